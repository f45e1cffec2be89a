// The order of work on a GPU's streams, without a GPU: what waits on what, and what is not waited for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/match.h"
#include "models/cuda/gradient_download.h"
#include "models/cuda/memory.h"
#include "tests/testing/manual_executor.h"
#include "tests/testing/recording_runtime.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::ManualExecutor;
using ::ssd::testing::RecordingRuntime;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Place = CudaRuntime::Place;

// The double itself finds a race where there is one.
TEST(RecordingRuntimeTest, FindsWhatNothingOrders) {
  RecordingRuntime runtime;
  std::vector<float> x(4);
  const CudaRuntime::Event event = runtime.NewEvent();
  runtime.Work(CudaStream::kCompute, "write", {Writes(std::span(x))});
  runtime.Record(event, CudaStream::kCompute);
  runtime.Work(CudaStream::kToHost, "early", {Reads(std::span(x).first(1))});
  EXPECT_THAT(runtime.races, ElementsAre("to-host: early and compute: write"));
  runtime.Order(event, CudaStream::kToHost);
  runtime.Work(CudaStream::kToHost, "late", {Reads(std::span(x))});
  runtime.Work(CudaStream::kCompute, "another reader", {Reads(std::span(x))});
  EXPECT_EQ(runtime.races.size(), 1u);
  runtime.Work(CudaStream::kCompute, "overwrites", {Writes(std::span(x).last(1))});
  EXPECT_THAT(runtime.races.back(), "compute: overwrites and to-host: late");
}

TEST(RecordingRuntimeTest, TheHostKnowsWhatItWasToldAndItsWorkKnowsIt) {
  RecordingRuntime runtime;
  std::vector<float> x(4);
  runtime.Work(CudaStream::kToHost, "write", {Writes(std::span(x))});
  bool told = false;
  runtime.Notify(CudaStream::kToHost, [&told] { told = true; });
  runtime.Work(CudaStream::kToHost, "write on", {Writes(std::span(x).last(2))});
  EXPECT_TRUE(runtime.DeliverOne());
  EXPECT_TRUE(told);
  runtime.Host("read", {Reads(std::span(x).first(2))});
  runtime.Work(CudaStream::kCompute, "overwrite", {Writes(std::span(x).first(2))});
  EXPECT_THAT(runtime.races, IsEmpty());
  runtime.Host("read", {Reads(std::span(x))});
  EXPECT_THAT(runtime.races, ElementsAre(HasSubstr("write on"), HasSubstr("overwrite")));
}

class CudaOrderTest : public ::testing::Test {
 protected:
  static constexpr int64_t kSize = 300'000;  // of the gradient; copies are of 65,536 floats and more

  CudaOrderTest() {
    auto* pinned = static_cast<float*>(runtime_.Allocate(Place::kPinned, kSize * sizeof(float)));
    host_ = {pinned, static_cast<size_t>(kSize)};
  }
  ~CudaOrderTest() override {
    EXPECT_THAT(runtime_.races, IsEmpty());
    runtime_.Free(Place::kPinned, host_.data());
  }

  // A backward pass in `pieces`, each followed by its announcement.
  void Backward(GradientDownload& download, int64_t pieces) {
    const std::span<float> gradient = download.gradient();
    for (int64_t piece = pieces; piece-- > 0;) {
      const int64_t first = kSize * piece / pieces;
      const std::span<float> part = gradient.subspan(first, kSize * (piece + 1) / pieces - first);
      runtime_.Work(CudaStream::kCompute, "backward", {Writes(part)});
      download.Final(first);
    }
  }

  // As a trainer's step: what has arrived is read by the host, and at the end the gradient by the local update.
  void Step(GradientDownload& download, int64_t pieces) {
    int64_t arrived = kSize;
    bool done = false;
    download.Begin(host_, [&](int64_t first) {
      ASSERT_LT(first, arrived);
      runtime_.Host("push", {Reads(host_.subspan(first, arrived - first))});
      arrived = first;
    });
    Backward(download, pieces);
    download.End([&] { done = true; });
    EXPECT_EQ(arrived, kSize) << "all is announced by later tasks";
    runtime_.DeliverAll();
    executor_.RunUntilIdle();
    EXPECT_EQ(arrived, 0);
    EXPECT_TRUE(done);
    runtime_.Work(CudaStream::kCompute, "local update", {Reads(download.gradient())});
  }

  RecordingRuntime runtime_;
  ManualExecutor executor_;
  std::span<float> host_;
};

TEST_F(CudaOrderTest, GradientArrivesPieceByPieceAndTheHostWaitsForNothing) {
  GradientDownload download(runtime_, executor_, kSize);
  Step(download, 3);
  EXPECT_EQ(runtime_.awaits, 0);
  // Each copy waits for the backward pass that made its part, and not for the next one.
  runtime_.log.erase(runtime_.log.begin(),
                     std::find(runtime_.log.begin(), runtime_.log.end(), "compute: backward"));
  runtime_.log.resize(10);
  EXPECT_THAT(runtime_.log,
              ElementsAre("compute: backward", "compute: record 0", "to-host: wait 0", "to-host: copy 400000",
                          "to-host: notify", "compute: backward", "compute: record 1", "to-host: wait 1",
                          "to-host: copy 400000", "to-host: notify"));
}

TEST_F(CudaOrderTest, SmallPiecesTravelTogether) {
  GradientDownload download(runtime_, executor_, kSize);
  Step(download, 1000);
  // 300 floats each: 219 of them make 65,700.
  std::vector<std::string> copies;
  for (const std::string& line : runtime_.log) {
    if (absl::StartsWith(line, "to-host: copy")) copies.push_back(line);
  }
  EXPECT_THAT(copies, ElementsAre("to-host: copy 262800", "to-host: copy 262800", "to-host: copy 262800",
                                  "to-host: copy 262800", "to-host: copy 148800"));
}

TEST_F(CudaOrderTest, StepsFollowEachOtherWithoutARaceAndAllocateNothing) {
  GradientDownload download(runtime_, executor_, kSize);
  Step(download, 7);
  const int64_t allocations = runtime_.allocations;
  const int64_t events = runtime_.events;
  for (int step = 0; step < 5; ++step) Step(download, 7);
  EXPECT_EQ(runtime_.allocations, allocations);
  EXPECT_EQ(runtime_.events, events);
  EXPECT_EQ(runtime_.awaits, 0);
}

TEST_F(CudaOrderTest, NotificationsThatComeTooLateConcernNobody) {
  {
    GradientDownload download(runtime_, executor_, kSize);
    download.Begin(host_, [](int64_t) { FAIL() << "its owner is gone"; });
    Backward(download, 1);
    download.End([] { FAIL() << "its owner is gone"; });
    runtime_.DeliverOne();
  }
  runtime_.DeliverAll();
  executor_.RunUntilIdle();
}

// Weights of one block, which a pull replaces while steps compute.
class CudaPullTest : public CudaOrderTest {
 protected:
  CudaPullTest() : memory_(runtime_), x_(memory_.Allocate(kBlock)), difference_(memory_.Allocate(kBlock)) {}

  Buffer Arrive(float value) {
    MutableBuffer values = memory_.pinned_buffers().Acquire(kBlock);
    runtime_.Host("receive", {Writes(values.values())});
    std::fill_n(values.values().begin(), kBlock, value);
    return memory_.Stage(std::move(values).Freeze());
  }
  void Compute() {
    runtime_.Work(CudaStream::kCompute, "pass", {Reads(x_->values())});
    memory_.passes().Sgd({}, difference_->values(), x_->values());
  }

  static constexpr int64_t kBlock = 1024;
  CudaMemory memory_;
  std::unique_ptr<DeviceArray> x_;
  std::unique_ptr<DeviceArray> difference_;
};

TEST_F(CudaPullTest, APulledBlockDoesNotWaitForTheStepThatComputes) {
  const Buffer last = Arrive(1);
  memory_.Copy(last.values(), x_->values());
  runtime_.log.clear();
  Compute();
  const Buffer pulled = Arrive(2);
  // It waits for event 1, recorded before the step's work was put into the stream.
  EXPECT_THAT(runtime_.log,
              ElementsAre("compute: pass", "compute: sgd", "allocate pinned 4096", "host: receive",
                          "allocate device 4096", "to-device: wait 1", "to-device: copy 4096",
                          "to-device: record 0", "to-device: record 3"));
  runtime_.log.clear();
  memory_.passes().InstallDifference(0.5f, last.values(), pulled.values(), difference_->values(),
                                     x_->values());
  EXPECT_THAT(runtime_.log,
              ElementsAre("compute: wait 0", "compute: install, difference", "compute: record 1"));
}

TEST_F(CudaPullTest, WhatIsStagedIsWhatWasPulled) {
  const Buffer staged = Arrive(3);
  std::vector<float> values(kBlock);
  memory_.Copy(staged.values(), x_->values());
  memory_.Download(x_->data(), values);
  EXPECT_THAT(values, ::testing::Each(3.0f));
  memory_.Upload(std::vector<float>(kBlock, 4.0f), x_->data());
  memory_.Download(x_->data(), values);
  EXPECT_THAT(values, ::testing::Each(4.0f));
}

// Each pull replaces the last one, whose buffers go back to their pools while the streams may still use them.
TEST_F(CudaPullTest, BuffersComeBackWithoutARaceAndNothingIsAllocated) {
  Buffer last = Arrive(0);
  memory_.Copy(last.values(), x_->values());
  int64_t allocations = 0;
  int64_t events = 0;
  for (int period = 1; period <= 8; ++period) {
    Compute();
    Buffer pulled = Arrive(static_cast<float>(period));
    Compute();
    memory_.passes().InstallDifference(0.5f, last.values(), pulled.values(), difference_->values(),
                                       x_->values());
    last = std::move(pulled);
    runtime_.ComeAll();
    if (period == 3) {
      allocations = runtime_.allocations;
      events = runtime_.events;
    }
  }
  EXPECT_EQ(runtime_.allocations, allocations);
  EXPECT_EQ(runtime_.events, events);
  EXPECT_EQ(runtime_.awaits, 0);
}

TEST_F(CudaPullTest, WhatIsBeingCopiedIsNotGivenBack) {
  (void)Arrive(1);
  (void)Arrive(2);
  EXPECT_EQ(memory_.pinned_buffers().allocations(), 2) << "the first copy may not have run";
  runtime_.ComeAll();
  (void)Arrive(3);
  (void)Arrive(4);
  EXPECT_LE(memory_.pinned_buffers().allocations(), 3);
}

}  // namespace
}  // namespace ssd
