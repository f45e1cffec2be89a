#include "worker/data/prefetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <set>
#include <vector>

#include "worker/data/random.h"

namespace ssd {
namespace {

using ::testing::ElementsAreArray;

constexpr auto kDeadline = std::chrono::seconds(60);

// Runs tasks where and when the test says.
class QueueExecutor : public Executor {
 public:
  void Post(Task task) override {
    {
      MutexLock lock(&mutex_);
      tasks_.push_back(std::move(task));
    }
    posted_.NotifyAll();
  }
  void PostAfter(absl::Duration, Task task) override { Post(std::move(task)); }

  // Runs the next task, once there is one; false when none came in time.
  bool RunNext() {
    Task task;
    {
      MutexLock lock(&mutex_);
      const auto deadline = std::chrono::steady_clock::now() + kDeadline;
      while (tasks_.empty()) {
        if (!posted_.WaitUntil(&mutex_, deadline)) return false;
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
    return true;
  }

  void RunAllThatWait() {
    while (true) {
      Task task;
      {
        MutexLock lock(&mutex_);
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

 private:
  Mutex mutex_;
  CondVar posted_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
};

ImageSet RandomImages(int64_t count) {
  ImageSet set;
  set.shape = {.height = 8, .width = 8, .channels = 3};
  Random random(1, Random::kShapesTrain, 0);
  for (int64_t i = 0; i < count * set.shape.size(); ++i) set.pixels.push_back(random.Below(256));
  for (int64_t i = 0; i < count; ++i) set.labels.push_back(static_cast<int32_t>(i));
  return set;
}

constexpr int64_t kSamples = 23;
constexpr int64_t kBatch = 5;

DataOrder Order() { return DataOrder({.seed = 4, .samples = kSamples, .workers = 2, .batch = kBatch}); }

// Gets the batch of `step`, waits for it, and returns it.
const Batch* GetNow(PrefetchingBatchSource& source, QueueExecutor& executor, Step step) {
  const Batch* got = nullptr;
  source.Get(step, [&got](const Batch& batch) { got = &batch; });
  EXPECT_EQ(got, nullptr) << "called back inside Get";
  EXPECT_TRUE(executor.RunNext()) << "no batch came";
  return got;
}

TEST(PrefetchTest, DeliversWhatTrainingBatchesMakes) {
  const ImageSet set = RandomImages(kSamples);
  for (bool augment : {false, true}) {
    TrainingBatches direct(set, Order(), WorkerId(1), augment);
    QueueExecutor executor;
    PrefetchingBatchSource source(
        set, Order(), {.worker = WorkerId(1), .augment = augment, .steps = {Step(3), Step(20)}, .depth = 3},
        executor);
    std::vector<float> images(direct.batch_floats());
    std::vector<int32_t> labels(kBatch);
    for (Step step(3); step < Step(20); ++step) {
      const Batch* batch = GetNow(source, executor, step);
      ASSERT_NE(batch, nullptr);
      direct.Make(step, images, labels);
      EXPECT_EQ(batch->valid, kBatch);
      EXPECT_THAT(batch->labels, ElementsAreArray(labels)) << step;
      EXPECT_THAT(batch->images, ElementsAreArray(images)) << step;
    }
  }
}

TEST(PrefetchTest, ARestartInTheMiddleGivesTheSameBatches) {
  const ImageSet set = RandomImages(kSamples);
  TrainingBatches uninterrupted(set, Order(), WorkerId(0), /*augment=*/true);
  TrainingBatches restarted(set, Order(), WorkerId(0), /*augment=*/true);
  std::vector<float> images(uninterrupted.batch_floats()), again(images.size());
  std::vector<int32_t> labels(kBatch), labels_again(kBatch);
  for (Step step; step <= Step(7); ++step) uninterrupted.Make(step, images, labels);
  restarted.Make(Step(7), again, labels_again);
  EXPECT_EQ(again, images);
  EXPECT_EQ(labels_again, labels);
}

TEST(PrefetchTest, ABatchStaysAsItIsUntilTheNextGet) {
  const ImageSet set = RandomImages(kSamples);
  QueueExecutor executor;
  PrefetchingBatchSource source(set, Order(),
                                {.worker = WorkerId(0), .steps = {Step(0), Step(50)}, .depth = 2}, executor);
  TrainingBatches direct(set, Order(), WorkerId(0), /*augment=*/true);
  std::vector<float> images(direct.batch_floats());
  std::vector<int32_t> labels(kBatch);
  std::set<const float*> addresses;
  for (Step step; step < Step(50); ++step) {
    const Batch* batch = GetNow(source, executor, step);
    ASSERT_NE(batch, nullptr);
    addresses.insert(batch->images.data());
    // Time for the thread to go on, were it to write into this batch.
    direct.Make(step, images, labels);
    EXPECT_THAT(batch->images, ElementsAreArray(images)) << step;
  }
  EXPECT_EQ(addresses.size(), 2u) << "the memory is that of two batches";
}

TEST(PrefetchTest, EndsWithoutACallWhileTheConsumerWaits) {
  const ImageSet set = RandomImages(kSamples);
  for (int trial = 0; trial < 50; ++trial) {
    QueueExecutor executor;
    bool called = false;
    {
      PrefetchingBatchSource source(set, Order(), {.worker = WorkerId(0), .steps = {Step(0), Step(9)}},
                                    executor);
      source.Get(Step(0), [&called](const Batch&) { called = true; });
    }
    executor.RunAllThatWait();  // a batch that was on its way is of no one's concern any more
    EXPECT_FALSE(called);
  }
}

TEST(PrefetchTest, EndsWhileNoOneWaits) {
  const ImageSet set = RandomImages(kSamples);
  QueueExecutor executor;
  PrefetchingBatchSource untouched(set, Order(), {.worker = WorkerId(0), .steps = {Step(0), Step(9)}},
                                   executor);
  PrefetchingBatchSource started(set, Order(), {.worker = WorkerId(0), .steps = {Step(0), Step(9)}},
                                 executor);
  EXPECT_NE(GetNow(started, executor, Step(0)), nullptr);
  PrefetchingBatchSource empty(set, Order(), {.worker = WorkerId(0), .steps = {Step(4), Step(4)}}, executor);
}

TEST(PrefetchTest, FeedsAConsumerOnAnotherThreadToTheEnd) {
  const ImageSet set = RandomImages(kSamples);
  static constexpr Step kEnd(300);
  std::promise<void> done;
  std::vector<int> counts(kSamples);  // touched by the executor's thread until done
  std::unique_ptr<PrefetchingBatchSource> source;
  {
    ThreadExecutor executor("consumer");
    source = std::make_unique<PrefetchingBatchSource>(
        set, Order(), PrefetchingBatchSource::Options{.worker = WorkerId(0), .steps = {Step(0), kEnd}},
        executor);
    struct Consumer {
      PrefetchingBatchSource& source;
      std::vector<int>& counts;
      std::promise<void>& done;
      void Ask(Step step) {
        source.Get(step, [this, step](const Batch& batch) {
          for (int32_t label : batch.labels) ++counts[label];
          if (step + 1 == kEnd) {
            done.set_value();
          } else {
            Ask(step + 1);
          }
        });
      }
    } consumer{*source, counts, done};
    executor.Post([&consumer] { consumer.Ask(Step(0)); });
    ASSERT_EQ(done.get_future().wait_for(kDeadline), std::future_status::ready);
    source.reset();
  }
  DataOrder order = Order();
  std::vector<int> wanted(kSamples);
  for (Step step; step < kEnd; ++step) {
    for (int64_t b = 0; b < kBatch; ++b) ++wanted[order.SampleAt(order.FirstPosition(step, WorkerId(0)) + b)];
  }
  EXPECT_EQ(counts, wanted);
}

TEST(PrefetchDeathTest, StepsOutOfOrderAreABug) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";  // the source has a thread
  const ImageSet set = RandomImages(kSamples);
  QueueExecutor executor;
  PrefetchingBatchSource source(set, Order(), {.worker = WorkerId(0), .steps = {Step(2), Step(9)}}, executor);
  EXPECT_DEATH(source.Get(Step(0), [](const Batch&) {}), "check failed.*\\(0 and 2\\)");
}

}  // namespace
}  // namespace ssd
