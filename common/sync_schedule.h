// When workers push, pull and wait: the rows of the policies, as a pure function of the options, the step and
// the block. Shards pin versions by it and workers act by it, so both sides agree without a word on the wire.
//
//   policy    stage                pushes          pulls                        awaited
//   ssgd      all steps            every step      after every step             at once
//   ssd_sgd   warm-up, t < T_w     every step      after every step             at once
//             delay, t >= T_w      every step or   after the last step of each  after the gradient of step
//                                  every period    period of k steps            t + pull_overlap is pushed
//
// A pull after step t asks for version t + 1 exactly. The run's last step ends a period, and its pull is
// awaited after it. Source: Xu et al. 2020, "SSD-SGD: Communication Sparsification for Distributed Deep
// Learning Training"; T_w is their warm-up stage and k their delay steps.
//
// Immutable, so thread-safe.
#ifndef SSD_COMMON_SYNC_SCHEDULE_H_
#define SSD_COMMON_SYNC_SCHEDULE_H_

#include <cstdint>
#include <optional>

#include "common/types.h"

namespace ssd {

struct SyncScheduleOptions {
  enum class Policy { kSsgd, kSsdSgd };
  enum class Push { kEveryStep, kEveryPeriod };

  Policy policy = Policy::kSsdSgd;
  int64_t k = 4;             // steps of a period
  int64_t warmup_steps = 0;  // T_w
  int64_t pull_overlap = 1;  // 0 or 1
  Push push = Push::kEveryStep;
  int64_t total_steps = 1;  // T
  // An evaluation is due every so many steps (a fraction where epochs are no whole number of steps), and at
  // the end. 0: only at the end.
  double evaluation_interval = 0;
};

class SyncSchedule {
 public:
  explicit SyncSchedule(const SyncScheduleOptions& options);
  virtual ~SyncSchedule() = default;

  const SyncScheduleOptions& options() const { return options_; }
  Step end() const { return Step(options_.total_steps); }
  Version last_version() const { return Version(options_.total_steps); }

  // Whether `step` belongs to plain synchronous SGD: x becomes the pulled version, without a local update.
  bool IsSynchronous(Step step) const;

  // The steps that the push of `block` after `step` covers; none: nothing is pushed then.
  std::optional<StepRange> PushAfter(Step step, BlockId block) const;

  // Whether version `step` + 1 of `block` is pulled after `step`.
  bool PullsAfter(Step step, BlockId block) const;

  // The pull of `version`, of any block, is awaited after the gradient of this step; end() for the last one
  // of an overlapped run, which is awaited after the last step. REQUIRES: version >= 1.
  Step AwaitedIn(Version version) const;

  // Whether `version` of `block` is pulled by the workers: shards pin it. Version 0 is.
  bool IsPulled(Version version, BlockId block) const;

  // The last pulled version of `block` before `version`. REQUIRES: version >= 1.
  Version PulledBefore(Version version, BlockId block) const;

  // Whether `version` is evaluated: the first one at or after a point where an evaluation is due that is
  // pulled anyway, and the last one. (With blocks of different phases, where block 0 is pulled.)
  bool IsEvaluated(Version version) const;

  // By how many steps a push may be ahead of the version that its block has: the lead of the fastest worker
  // over the slowest, k + pull_overlap.
  int64_t max_open_steps() const;

 protected:
  // By how many steps the periods of `block` end earlier than at multiples of k after the warm-up.
  virtual int64_t PhaseOf(BlockId) const { return 0; }

 private:
  int64_t PositionInPeriod(Step step, BlockId block) const;
  bool EndsPeriod(Step step, BlockId block) const;

  const SyncScheduleOptions options_;
};

}  // namespace ssd

#endif  // SSD_COMMON_SYNC_SCHEDULE_H_
