// An executor and a clock that a test turns by hand: everything on one thread, in virtual time.
#ifndef SSD_TESTS_TESTING_MANUAL_EXECUTOR_H_
#define SSD_TESTS_TESTING_MANUAL_EXECUTOR_H_

#include <deque>
#include <map>
#include <utility>

#include "common/clock.h"
#include "common/executor.h"

namespace ssd::testing {

class ManualExecutor : public Executor, public Clock {
 public:
  void Post(Task task) override { tasks_.push_back(std::move(task)); }
  void PostAfter(absl::Duration delay, Task task) override { timers_.emplace(now_ + delay, std::move(task)); }
  absl::Duration Steady() const override { return now_; }
  absl::Time Wall() const override { return absl::UnixEpoch() + now_; }

  // Runs the oldest task, if there is one.
  bool RunOne() {
    if (tasks_.empty()) return false;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    std::move(task)();
    return true;
  }

  void RunUntilIdle() {
    while (RunOne()) {
    }
  }

  // Lets time pass; timers that come due run in their order, with all that they post.
  void Advance(absl::Duration by) {
    const absl::Duration end = now_ + by;
    RunUntilIdle();
    while (!timers_.empty() && timers_.begin()->first <= end) {
      now_ = timers_.begin()->first;
      Task task = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      std::move(task)();
      RunUntilIdle();
    }
    now_ = end;
  }

 private:
  absl::Duration now_ = absl::Seconds(1000);
  std::deque<Task> tasks_;
  std::multimap<absl::Duration, Task> timers_;
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_TESTING_MANUAL_EXECUTOR_H_
