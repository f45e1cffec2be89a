// Delivery in any order that a network allows: tasks of one lane keep their order, and between lanes a seeded
// generator chooses. Give each stream a lane, and frames of one stream arrive as sent while streams overtake
// each other at random.
#ifndef SSD_TESTS_TESTING_SHUFFLED_LANES_H_
#define SSD_TESTS_TESTING_SHUFFLED_LANES_H_

#include <cstdint>
#include <deque>
#include <list>
#include <random>
#include <utility>
#include <vector>

#include "common/executor.h"
#include "tests/testing/manual_executor.h"

namespace ssd::testing {

// Single-threaded. The given executor is one lane more, and keeps the timers.
class ShuffledLanes {
 public:
  ShuffledLanes(uint64_t seed, ManualExecutor& executor) : random_(seed), executor_(executor) {}

  // A new lane, which lives as long as this.
  Executor& NewLane() { return lanes_.emplace_back(executor_); }

  // Runs the oldest task of a lane picked at random among those that have one. False: there is none.
  bool RunOne() {
    std::vector<Lane*> waiting;
    for (Lane& lane : lanes_) {
      if (!lane.tasks.empty()) waiting.push_back(&lane);
    }
    // The executor cannot be asked whether it has one, so it is tried, and passes its turn when it has none.
    if (random_() % (waiting.size() + 1) == 0 && executor_.RunOne()) return true;
    if (waiting.empty()) return executor_.RunOne();
    Lane& lane = *waiting[random_() % waiting.size()];
    Executor::Task task = std::move(lane.tasks.front());
    lane.tasks.pop_front();
    std::move(task)();
    return true;
  }

 private:
  struct Lane : Executor {
    explicit Lane(ManualExecutor& timers) : timers(timers) {}
    void Post(Task task) override { tasks.push_back(std::move(task)); }
    void PostAfter(absl::Duration delay, Task task) override { timers.PostAfter(delay, std::move(task)); }

    ManualExecutor& timers;
    std::deque<Task> tasks;
  };

  std::mt19937_64 random_;
  ManualExecutor& executor_;
  std::list<Lane> lanes_;
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_TESTING_SHUFFLED_LANES_H_
