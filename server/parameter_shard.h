// One shard of the global weights: adds up the workers' gradients, makes the optimizer's steps, keeps
// versions, and answers pulls.
//
//   Version v of a block is its weights after all steps before v are complete.
//
// A pull of a version that does not exist yet is parked. The versions that the schedule says will be pulled
// are pinned, and the last two of them kept, so that a worker that asks late still gets exactly the version
// it asks for.
//
// Not thread-safe: all calls, and the callbacks they make, run on the shard's executor. Nothing here waits.
// Memory, in sizes of the shard: weights, velocity, two pinned versions of both, and the updates under way,
// which are at most SyncSchedule::max_open_steps() (and up to 2 (N - 1) more in deterministic mode).
#ifndef SSD_SERVER_PARAMETER_SHARD_H_
#define SSD_SERVER_PARAMETER_SHARD_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/buffer.h"
#include "common/learning_rate.h"
#include "common/optimizer.h"
#include "common/parameter_layout.h"
#include "common/partition.h"
#include "common/sync_schedule.h"
#include "common/types.h"
#include "server/aggregator.h"

namespace ssd {

class ParameterShard {
 public:
  struct Options {
    ShardId shard;
    int num_workers = 1;
    bool deterministic = false;
    OptimizerOptions optimizer;
  };

  // A block at a version. For a block of buffers `velocity` is empty.
  struct Snapshot {
    Version version;
    Buffer values;
    Buffer velocity;
  };

  using PullCallback = absl::AnyInvocable<void(const Snapshot&)>;

  // A worker that holds up an update, and the update's first step.
  struct Straggler {
    WorkerId worker;
    Step step;
  };

  ParameterShard(const Options& options, ModelLayout layout, Partition partition,
                 std::shared_ptr<const SyncSchedule> schedule,
                 std::shared_ptr<const LearningRate> learning_rate, BufferPool* pool);

  const ModelLayout& layout() const { return layout_; }
  const Partition& partition() const { return partition_; }
  const SyncSchedule& schedule() const { return *schedule_; }

  // InvalidArgument: no block of this shard has so many floats.
  absl::Status CheckSize(size_t floats) const;

  // Version 0 of a block. AlreadyExists: it has been given.
  absl::Status SetInitial(BlockId id, Buffer values);

  // One worker's part of the update of a block that ends with `step` (v1.Push says which steps that are);
  // none: the worker skips. Errors change nothing: NotFound: not a block of this shard; InvalidArgument:
  // another size, or not a push of the schedule; AlreadyExists: given before; OutOfRange: too early.
  // DataLoss: a value that is not finite, with the tensor's name; the run has diverged.
  absl::Status Push(WorkerId worker, BlockId id, Step step, std::optional<Buffer> gradient);

  // In deterministic mode a worker may have sent its lowest incomplete push of this shard and the next one.
  // Otherwise always true, and true for what Push refuses at once. The lowest open step is always accepted.
  bool MayPush(Step step) const;

  // Calls `done` once, now or when the version is there: exactly `version`, or at least that one.
  // Errors, at once: NotFound: not a block of this shard; OutOfRange: a version that this run never has, or
  // that is never pulled; FailedPrecondition: no longer held, and the newest one that is.
  absl::Status Pull(BlockId id, Version version, bool exact, PullCallback done);

  // The newest version of a block, if there is one. REQUIRES: the block is this shard's.
  std::optional<Snapshot> Newest(BlockId id) const;

  // The lowest version of this shard's blocks of parameters.
  Version CompleteVersion() const;

  // Those without whom the lowest version cannot rise; empty when no worker has begun the next update. While
  // pulls wait for version 0 that is worker 0. Those alone, where there are any, who have not given the statistics of the
  // lowest version, or of one before.
  std::vector<Straggler> Stragglers() const;

  // Pulls that wait, for metrics and bounds.
  int64_t parked_pulls() const { return parked_pulls_; }

  // By how many steps a push of a gradient was ahead of its block's version at most, since the last call: the
  // lead of the fastest worker over the slowest. At most SyncSchedule::max_open_steps().
  int64_t TakeLead() { return std::exchange(lead_, 0); }

 private:
  struct BlockState {
    explicit BlockState(Aggregator aggregator) : aggregator(std::move(aggregator)) {}
    bool has_initial = false;
    Snapshot newest;
    std::deque<Snapshot> pinned;  // of the last pulled versions, at most two
    std::vector<Version> pushed;  // per worker: the version that its pushes so far lead to
    Aggregator aggregator;
    std::multimap<Version, PullCallback> parked;
  };

  absl::StatusOr<BlockState*> Find(BlockId id);
  absl::StatusOr<StepRange> RangeOf(const Block& block, Step step) const;
  StepRange RangeAfter(const Block& block, Version version) const;
  absl::Status CheckFinite(const Block& block, std::span<const float> values, absl::string_view what,
                           WorkerId worker, Step step) const;
  void Advance(const Block& block, BlockState& state);
  Snapshot Apply(const Block& block, const BlockState& state, StepRange steps, const Aggregator::Sum& sum);
  void Publish(BlockId id, BlockState& state, Snapshot snapshot);

  const Options options_;
  const ModelLayout layout_;
  const Partition partition_;
  const std::shared_ptr<const SyncSchedule> schedule_;
  const std::shared_ptr<const LearningRate> learning_rate_;
  BufferPool* const pool_;

  std::map<BlockId, BlockState> blocks_;  // this shard's
  int64_t parked_pulls_ = 0;
  int64_t lead_ = 0;
};

}  // namespace ssd

#endif  // SSD_SERVER_PARAMETER_SHARD_H_
