#include "common/sync_schedule.h"

#include <algorithm>

#include "common/interval.h"
#include "common/logging.h"

namespace ssd {

SyncSchedule::SyncSchedule(const SyncScheduleOptions& options) : options_(options) {
  CHECK_GE(options.k, 1);
  CHECK_GE(options.warmup_steps, 0);
  CHECK(options.pull_overlap == 0 || options.pull_overlap == 1);
  CHECK_GE(options.total_steps, 1);
}

bool SyncSchedule::IsSynchronous(Step step) const {
  return options_.policy == SyncScheduleOptions::Policy::kSsgd || step.value() < options_.warmup_steps;
}

int64_t SyncSchedule::PositionInPeriod(Step step, BlockId block) const {
  return (step.value() - options_.warmup_steps + PhaseOf(block)) % options_.k;
}

bool SyncSchedule::EndsPeriod(Step step, BlockId block) const {
  return PositionInPeriod(step, block) == options_.k - 1 || step + 1 == end();
}

std::optional<StepRange> SyncSchedule::PushAfter(Step step, BlockId block) const {
  if (IsSynchronous(step) || options_.push == SyncScheduleOptions::Push::kEveryStep)
    return StepRange{step, step + 1};
  if (!EndsPeriod(step, block)) return std::nullopt;
  const Step first = step - PositionInPeriod(step, block);
  return StepRange{std::max(first, Step(options_.warmup_steps)), step + 1};
}

bool SyncSchedule::PullsAfter(Step step, BlockId block) const {
  return IsSynchronous(step) || EndsPeriod(step, block);
}

Step SyncSchedule::AwaitedIn(Version version) const {
  const Step pulled_after(version.value() - 1);
  return IsSynchronous(pulled_after) ? pulled_after : pulled_after + options_.pull_overlap;
}

bool SyncSchedule::IsPulled(Version version, BlockId block) const {
  return version.value() == 0 || PullsAfter(Step(version.value() - 1), block);
}

Version SyncSchedule::PulledBefore(Version version, BlockId block) const {
  Version before = version - 1;
  while (!IsPulled(before, block)) before = before - 1;
  return before;
}

bool SyncSchedule::IsEvaluated(Version version) const {
  constexpr BlockId kFirst(0);
  if (version.value() == 0 || !IsPulled(version, kFirst)) return false;
  if (version == last_version()) return true;
  if (options_.evaluation_interval <= 0) return false;
  return ReachesPoint(options_.evaluation_interval, PulledBefore(version, kFirst).value(), version.value());
}

int64_t SyncSchedule::max_open_steps() const {
  if (options_.policy == SyncScheduleOptions::Policy::kSsgd) return 1;
  return options_.k + options_.pull_overlap;
}

}  // namespace ssd
