#include "common/executor.h"

#include <pthread.h>

#include <chrono>
#include <string>

#include "common/clock.h"

namespace ssd {

ThreadExecutor::ThreadExecutor(const char* name)
    : thread_([this, name = std::string(name).substr(0, 15)] {
        pthread_setname_np(pthread_self(), name.c_str());
        Run();
      }) {}

ThreadExecutor::~ThreadExecutor() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  wake_.NotifyOne();
  thread_.join();
  // What a dropped task captured may post once more from its destructor; that is dropped too.
  std::vector<Task> tasks;
  std::multimap<absl::Duration, Task> timers;
  MutexLock lock(&mutex_);
  tasks.swap(tasks_);
  timers.swap(timers_);
}

void ThreadExecutor::Post(Task task) {
  // Notified under the lock: once the task has run, the executor may go.
  MutexLock lock(&mutex_);
  if (stopping_) return;
  tasks_.push_back(std::move(task));
  wake_.NotifyOne();
}

void ThreadExecutor::PostAfter(absl::Duration delay, Task task) {
  MutexLock lock(&mutex_);
  if (stopping_) return;
  timers_.emplace(Clock::Real().Steady() + delay, std::move(task));
  wake_.NotifyOne();
}

void ThreadExecutor::Run() {
  std::vector<Task> batch;  // taken out together, so that the lock is touched once for many tasks
  while (true) {
    {
      MutexLock lock(&mutex_);
      while (true) {
        if (stopping_) return;
        const absl::Duration now = Clock::Real().Steady();
        while (!timers_.empty() && timers_.begin()->first <= now) {
          tasks_.push_back(std::move(timers_.begin()->second));
          timers_.erase(timers_.begin());
        }
        if (!tasks_.empty()) break;
        if (timers_.empty()) {
          wake_.Wait(&mutex_);
        } else {
          wake_.WaitUntil(&mutex_, std::chrono::steady_clock::time_point(
                                       absl::ToChronoNanoseconds(timers_.begin()->first)));
        }
      }
      batch.swap(tasks_);
    }
    for (Task& task : batch) {
      {
        MutexLock lock(&mutex_);
        if (stopping_) return;
      }
      std::move(task)();
      task = nullptr;  // what it captured goes before the next one runs
    }
    batch.clear();
  }
}

}  // namespace ssd
