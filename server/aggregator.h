// Adds up the workers' pushes of one block and tells when an update is complete: when every worker has given
// its gradient or said that it skips.
//
// Not thread-safe; owned by ParameterShard. Memory: one block per update under way, and in deterministic mode
// up to N - 1 more.
#ifndef SSD_SERVER_AGGREGATOR_H_
#define SSD_SERVER_AGGREGATOR_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/buffer.h"
#include "common/types.h"

namespace ssd {

class Aggregator {
 public:
  struct Options {
    int num_workers = 1;
    // Add in the order of the workers' ids, so that the sum of more than two gradients is the same bits every
    // time.
    bool deterministic = false;
  };

  // What a complete update is made of.
  struct Sum {
    Buffer sum;     // empty when count is 0
    int count = 0;  // gradients in it; the others skipped
  };

  Aggregator(const Options& options, BufferPool* pool) : options_(options), pool_(pool) {}

  // Adds one worker's part of the update after the one that this worker has given last; none: the worker
  // skips. All workers give the updates of a block in the same order, so the first one under way completes
  // first. REQUIRES: 0 <= worker < num_workers; one size always.
  void Add(WorkerId worker, std::optional<Buffer> gradient);

  // Takes the first update under way if it is complete.
  std::optional<Sum> TakeComplete();

  // The workers whose part of the first update under way is missing; all of them when none is under way.
  std::vector<WorkerId> Missing() const;

  // Whether any worker has given its part of an update that is not complete.
  bool under_way() const { return !open_.empty(); }

 private:
  struct Open {
    Buffer first;       // the only gradient so far, shared with whoever received it
    MutableBuffer sum;  // from the second on
    int count = 0;      // gradients added
    int answered = 0;   // workers that gave or skipped
    std::vector<bool> has_answered;
    std::vector<std::optional<Buffer>> waiting;  // deterministic: given, and not added yet
    int next = 0;                                // deterministic: the worker to add next
  };

  void AddInto(Open& open, Buffer gradient);

  const Options options_;
  BufferPool* const pool_;
  std::deque<Open> open_;       // the front completes first
  int64_t completed_ = 0;       // updates taken so far
  std::vector<int64_t> given_;  // per worker: updates it has answered; sized at the first Add
};

}  // namespace ssd

#endif  // SSD_SERVER_AGGREGATOR_H_
