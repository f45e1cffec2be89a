// What a GPU does with a CudaRuntime's calls, and what is said where there is none.
#include "models/cuda/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "models/cuda/memory.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::StatusIs;
using ::testing::Each;
using ::testing::HasSubstr;

TEST(FindGpuTest, WhatIsNotThereIsSaidInTheDriversWords) {
  const absl::StatusOr<GpuProperties> first = FindGpu(0);
  if (first.ok()) {
    EXPECT_GT(first->multiprocessors, 0);
    EXPECT_GT(first->memory, first->free_memory);
    EXPECT_THAT(FindGpu(1000), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no GPU 1000")));
    return;
  }
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("cudaErr")));
}

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const absl::StatusOr<GpuProperties> gpu = FindGpu(0); !gpu.ok()) {
      GTEST_SKIP() << "no GPU: " << gpu.status().message();
    }
    runtime_ = OpenGpu(0);
  }

  std::unique_ptr<CudaRuntime> runtime_;
};

TEST_F(GpuTest, ValuesGoThereAndComeBack) {
  CudaMemory memory(*runtime_);
  const auto x = memory.Allocate(1000);
  std::vector<float> values(1000, 1.0f);
  memory.Download(x->data(), values);
  EXPECT_THAT(values, Each(0.0f));
  memory.Upload(std::vector<float>(1000, 2.5f), x->data());
  memory.Download(x->data(), values);
  EXPECT_THAT(values, Each(2.5f));
}

TEST_F(GpuTest, AStagedBlockIsInstalledWithItsDifference) {
  CudaMemory memory(*runtime_);
  const auto x = memory.Allocate(1000);
  const auto difference = memory.Allocate(1000);
  const auto stage = [&memory](float value) {
    MutableBuffer values = memory.pinned_buffers().Acquire(1000);
    for (float& each : values.values()) each = value;
    return memory.Stage(std::move(values).Freeze());
  };
  const Buffer last = stage(4);
  const Buffer pulled = stage(3);
  memory.passes().InstallDifference(0.5f, last.values(), pulled.values(), difference->values(), x->values());
  std::vector<float> values(1000);
  memory.Download(x->data(), values);
  EXPECT_THAT(values, Each(3.0f));
  memory.Download(difference->data(), values);
  EXPECT_THAT(values, Each(0.5f));
}

TEST_F(GpuTest, NotificationsComeInOrderAndAfterTheWork) {
  CudaMemory memory(*runtime_);
  const auto x = memory.Allocate(1 << 20);
  std::atomic<int> told = 0;
  std::atomic<bool> in_order = true;
  for (int i = 0; i < 100; ++i) {
    memory.passes().Sgd({.rate = 0.5f}, x->values(), x->values());
    runtime_->Notify(CudaStream::kCompute, [&told, &in_order, i] {
      if (told.exchange(i + 1) != i) in_order = false;
    });
  }
  const CudaRuntime::Event end = runtime_->NewEvent();
  runtime_->Record(end, CudaStream::kCompute);
  std::thread([&] { runtime_->Await(end); }).join();  // on any thread
  EXPECT_TRUE(runtime_->HasCome(end));
  EXPECT_EQ(told, 100);
  EXPECT_TRUE(in_order);
}

TEST_F(GpuTest, MemoryThatIsNotThereIsBadAlloc) {
  EXPECT_THROW(runtime_->Allocate(CudaRuntime::Place::kDevice, int64_t{1} << 50), std::bad_alloc);
  EXPECT_NO_THROW(runtime_->NewEvent()) << "the failure does not stick";
}

}  // namespace
}  // namespace ssd
