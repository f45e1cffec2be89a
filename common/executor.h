// Runs tasks one after the other. The state that one executor's tasks share needs no lock.
#ifndef SSD_COMMON_EXECUTOR_H_
#define SSD_COMMON_EXECUTOR_H_

#include <map>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace ssd {

// Thread-safe. Tasks posted by one thread run in the order of their posting, never at the same time as each other, and
// never inside Post. A task that is still waiting when the executor ends is destroyed without running.
class Executor {
 public:
  using Task = absl::AnyInvocable<void()>;

  virtual ~Executor() = default;
  virtual void Post(Task task) = 0;
  // Runs `task` no earlier than `delay` from now, on the steady clock.
  virtual void PostAfter(absl::Duration delay, Task task) = 0;
};

// An executor with a thread of its own.
class ThreadExecutor : public Executor {
 public:
  // `name` shows in debuggers and in top; at most 15 characters are kept.
  explicit ThreadExecutor(const char* name);
  // Waits for the task that runs now; drops the others.
  ~ThreadExecutor() override;

  void Post(Task task) override;
  void PostAfter(absl::Duration delay, Task task) override;

 private:
  void Run();

  Mutex mutex_;
  CondVar wake_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  std::multimap<absl::Duration, Task> timers_ ABSL_GUARDED_BY(mutex_);  // by steady time
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it starts when all else is there
};

}  // namespace ssd

#endif  // SSD_COMMON_EXECUTOR_H_
