#include "common/executor.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "common/logging.h"

namespace ssd {
namespace {

// Waits for what must come; a test that hangs is ended by its runner.
template <typename T>
T Get(std::future<T> future) {
  CHECK(future.wait_for(std::chrono::seconds(30)) == std::future_status::ready) << "it never came";
  return future.get();
}

TEST(ThreadExecutorTest, TasksOfOneThreadRunInTheirOrder) {
  ThreadExecutor executor("test");
  std::vector<int> order;
  std::promise<void> done;
  for (int i = 0; i < 1000; ++i) executor.Post([&order, i] { order.push_back(i); });
  executor.Post([&done] { done.set_value(); });
  Get(done.get_future());
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(order[i], i);
}

TEST(ThreadExecutorTest, ATaskRunsOnTheExecutorsThreadAndNotInsidePost) {
  ThreadExecutor executor("test");
  std::promise<bool> inside;
  executor.Post([&] {
    bool* posting = new bool(true);
    executor.Post([&inside, posting] {
      inside.set_value(*posting);
      delete posting;
    });
    *posting = false;
  });
  EXPECT_FALSE(Get(inside.get_future()));
}

TEST(ThreadExecutorTest, TasksOfManyThreadsNeverOverlap) {
  ThreadExecutor executor("test");
  int64_t count = 0;  // without a lock: one thread runs all
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) executor.Post([&count] { ++count; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::promise<int64_t> done;
  executor.Post([&] { done.set_value(count); });
  EXPECT_EQ(Get(done.get_future()), 4000);
}

TEST(ThreadExecutorTest, TimersRunInTheOrderOfTheirTimesAndNotTooEarly) {
  ThreadExecutor executor("test");
  const auto start = std::chrono::steady_clock::now();
  std::vector<int> order;
  std::promise<std::chrono::steady_clock::time_point> done;
  executor.PostAfter(absl::Milliseconds(20), [&] {
    order.push_back(3);
    done.set_value(std::chrono::steady_clock::now());
  });
  executor.PostAfter(absl::Milliseconds(10), [&] { order.push_back(2); });
  executor.PostAfter(absl::ZeroDuration(), [&] { order.push_back(1); });
  EXPECT_GE(Get(done.get_future()) - start, std::chrono::milliseconds(20));
  EXPECT_THAT(order, ::testing::ElementsAre(1, 2, 3));
}

TEST(ThreadExecutorTest, ATimerFarAwayDelaysNothing) {
  ThreadExecutor executor("test");
  executor.PostAfter(absl::InfiniteDuration(), [] { FAIL() << "infinity has passed"; });
  std::promise<int> done;
  executor.Post([&done] { done.set_value(1); });
  EXPECT_EQ(Get(done.get_future()), 1);
}

TEST(ThreadExecutorTest, TheEndDropsWaitingTasksAndDestroysThem) {
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = kept;
  std::atomic<bool> ran = false;
  std::promise<void> running;
  auto executor = std::make_unique<ThreadExecutor>("test");
  Executor* const posting = executor.get();
  executor->Post([&running, posting] {
    running.set_value();
    // Goes on until the executor has begun to end: from then on what is posted is destroyed at once.
    for (bool ending = false; !ending; std::this_thread::yield()) {
      auto probe = std::make_shared<int>(1);
      const std::weak_ptr<int> gone = probe;
      posting->PostAfter(absl::Hours(1), [probe = std::move(probe)] {});
      ending = gone.expired();
    }
  });
  executor->Post([kept, &ran] { ran = true; });
  executor->PostAfter(absl::Hours(1), [kept, &ran] { ran = true; });
  kept.reset();
  Get(running.get_future());
  executor.reset();
  EXPECT_FALSE(ran);
  EXPECT_TRUE(watch.expired());
}

TEST(ThreadExecutorTest, TheEndRunsNoTimer) {
  std::atomic<bool> ran = false;
  {
    ThreadExecutor("test").PostAfter(absl::Hours(1), [&ran] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

// Posts once more when it goes.
struct PostsAtItsEnd {
  explicit PostsAtItsEnd(Executor* executor) : executor(executor) {}
  ~PostsAtItsEnd() {
    executor->Post([] { FAIL() << "the executor has ended"; });
    executor->PostAfter(absl::ZeroDuration(), [] { FAIL() << "the executor has ended"; });
  }
  Executor* executor;
};

TEST(ThreadExecutorTest, WhatADroppedTaskPostsIsDroppedToo) {
  auto executor = std::make_unique<ThreadExecutor>("test");
  executor->PostAfter(absl::Hours(1), [held = std::make_shared<PostsAtItsEnd>(executor.get())] {});
  executor.reset();  // the sanitizers watch that nothing posts into what is gone
}

TEST(ThreadExecutorTest, ATaskMayPostManyMore) {
  ThreadExecutor executor("a name of more than fifteen characters");
  std::promise<int> done;
  int left = 100;
  std::function<void()> next = [&] {
    if (--left == 0) {
      done.set_value(left);
    } else {
      executor.Post(next);
    }
  };
  executor.Post(next);
  EXPECT_EQ(Get(done.get_future()), 0);
}

}  // namespace
}  // namespace ssd
