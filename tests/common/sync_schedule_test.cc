#include "common/sync_schedule.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ssd {
namespace {

using Policy = SyncScheduleOptions::Policy;
using Push = SyncScheduleOptions::Push;
using ::testing::ElementsAre;

constexpr BlockId kBlock(0);

// What happens in a step: "push 0-3 pull 4 await 4".
std::string Row(const SyncSchedule& schedule, Step step) {
  std::vector<std::string> words;
  if (const auto push = schedule.PushAfter(step, kBlock); push.has_value()) {
    words.emplace_back(absl::StrCat("push ", push->first.value(), "-", push->end.value() - 1));
  }
  if (schedule.PullsAfter(step, kBlock)) words.emplace_back(absl::StrCat("pull ", step.value() + 1));
  for (Version version(1); version <= schedule.last_version(); ++version) {
    if (schedule.IsPulled(version, kBlock) && schedule.AwaitedIn(version) == step) {
      words.emplace_back(absl::StrCat("await ", version.value()));
    }
  }
  return absl::StrJoin(words, " ");
}

// One row a step, and one after the last.
std::vector<std::string> Table(const SyncScheduleOptions& options) {
  const SyncSchedule schedule(options);
  std::vector<std::string> rows;
  for (Step step(0); step < schedule.end(); ++step) rows.push_back(Row(schedule, step));
  std::string after;
  for (Version version(1); version <= schedule.last_version(); ++version) {
    if (schedule.IsPulled(version, kBlock) && schedule.AwaitedIn(version) == schedule.end()) {
      absl::StrAppend(&after, "await ", version.value());
    }
  }
  rows.push_back(after);
  return rows;
}

SyncScheduleOptions Ssd(int64_t overlap, Push push = Push::kEveryStep) {
  return {.k = 4, .warmup_steps = 3, .pull_overlap = overlap, .push = push, .total_steps = 14};
}

TEST(SyncScheduleTest, SsgdPullsAndAwaitsEveryStep) {
  EXPECT_THAT(
      Table({.policy = Policy::kSsgd, .total_steps = 3}),
      ElementsAre("push 0-0 pull 1 await 1", "push 1-1 pull 2 await 2", "push 2-2 pull 3 await 3", ""));
}

TEST(SyncScheduleTest, SsgdIgnoresPeriods) {
  const SyncScheduleOptions options{
      .policy = Policy::kSsgd, .k = 4, .push = Push::kEveryPeriod, .total_steps = 2};
  EXPECT_THAT(Table(options), ElementsAre("push 0-0 pull 1 await 1", "push 1-1 pull 2 await 2", ""));
}

TEST(SyncScheduleTest, SsdWithOverlapAwaitsAfterTheNextGradient) {
  EXPECT_THAT(Table(Ssd(/*overlap=*/1)),
              ElementsAre("push 0-0 pull 1 await 1",                              //
                          "push 1-1 pull 2 await 2",                              //
                          "push 2-2 pull 3 await 3",                              // the warm-up's last
                          "push 3-3", "push 4-4", "push 5-5", "push 6-6 pull 7",  // a period
                          "push 7-7 await 7", "push 8-8", "push 9-9",             //
                          "push 10-10 pull 11", "push 11-11 await 11", "push 12-12",
                          "push 13-13 pull 14",  // the run's last step ends one
                          "await 14"));
}

TEST(SyncScheduleTest, SsdWithoutOverlapAwaitsAtOnce) {
  EXPECT_THAT(Table(Ssd(/*overlap=*/0)),
              ElementsAre("push 0-0 pull 1 await 1", "push 1-1 pull 2 await 2", "push 2-2 pull 3 await 3",
                          "push 3-3", "push 4-4", "push 5-5", "push 6-6 pull 7 await 7", "push 7-7",
                          "push 8-8", "push 9-9", "push 10-10 pull 11 await 11", "push 11-11", "push 12-12",
                          "push 13-13 pull 14 await 14", ""));
}

TEST(SyncScheduleTest, EveryPeriodPushesOncePerPeriodAndTheShortRest) {
  EXPECT_THAT(Table(Ssd(/*overlap=*/1, Push::kEveryPeriod)),
              ElementsAre("push 0-0 pull 1 await 1", "push 1-1 pull 2 await 2", "push 2-2 pull 3 await 3",  //
                          "", "", "", "push 3-6 pull 7",                                                    //
                          "await 7", "", "", "push 7-10 pull 11",                                           //
                          "await 11", "", "push 11-13 pull 14", "await 14"));
}

TEST(SyncScheduleTest, PeriodsOfOneStepPullEveryStepOneStepLate) {
  EXPECT_THAT(
      Table({.k = 1, .pull_overlap = 1, .total_steps = 3}),
      ElementsAre("push 0-0 pull 1", "push 1-1 pull 2 await 1", "push 2-2 pull 3 await 2", "await 3"));
}

TEST(SyncScheduleTest, AWarmUpLongerThanTheRunIsSsgd) {
  EXPECT_THAT(Table({.k = 4, .warmup_steps = 9, .total_steps = 2}),
              ElementsAre("push 0-0 pull 1 await 1", "push 1-1 pull 2 await 2", ""));
}

// Walks the worst case: the fastest worker goes as far as its pulls let it, while the slowest has given
// nothing since the version that the fastest installed last.
int64_t LongestLead(const SyncSchedule& schedule) {
  int64_t longest = 0;
  Version installed(0);
  for (Step step(0); step < schedule.end(); ++step) {
    const auto push = schedule.PushAfter(step, kBlock);
    if (push.has_value()) longest = std::max(longest, push->end.value() - installed.value());
    for (Version version(1); version <= schedule.last_version(); ++version) {
      if (schedule.IsPulled(version, kBlock) && schedule.AwaitedIn(version) == step) installed = version;
    }
  }
  return longest;
}

TEST(SyncScheduleTest, LeadIsBoundedAndTheBoundIsReached) {
  for (int64_t k : {1, 2, 4, 5}) {
    for (int64_t overlap : {0, 1}) {
      for (int64_t warmup : {0, 3}) {
        const SyncSchedule schedule(
            {.k = k, .warmup_steps = warmup, .pull_overlap = overlap, .total_steps = 4 * k + 7});
        EXPECT_EQ(schedule.max_open_steps(), k + overlap);
        EXPECT_EQ(LongestLead(schedule), k + overlap) << "k " << k << " overlap " << overlap;
      }
    }
  }
  EXPECT_EQ(SyncSchedule({.policy = Policy::kSsgd, .total_steps = 9}).max_open_steps(), 1);
  EXPECT_EQ(LongestLead(SyncSchedule({.policy = Policy::kSsgd, .total_steps = 9})), 1);
}

// Blocks of different phases.
class StaggeredSchedule : public SyncSchedule {
 public:
  using SyncSchedule::SyncSchedule;

 protected:
  int64_t PhaseOf(BlockId block) const override { return block.value() % options().k; }
};

void ExpectConsistent(const SyncSchedule& schedule, BlockId block) {
  Version last(0);
  Step covered(0);  // steps before it are in a push
  EXPECT_TRUE(schedule.IsPulled(Version(0), block));
  for (Step step(0); step < schedule.end(); ++step) {
    const Version version(step.value() + 1);
    if (const auto push = schedule.PushAfter(step, block); push.has_value()) {
      EXPECT_EQ(push->first, covered) << "every step is in exactly one push";
      EXPECT_EQ(push->end, step + 1);
      covered = push->end;
    }
    EXPECT_EQ(schedule.IsPulled(version, block), schedule.PullsAfter(step, block));
    if (!schedule.IsPulled(version, block)) continue;
    EXPECT_EQ(covered, step + 1) << "a pulled version is one that the pushes lead to";
    EXPECT_EQ(schedule.PulledBefore(version, block), last);
    EXPECT_LE(version - last, schedule.options().k);
    EXPECT_LE(schedule.AwaitedIn(version) - step, schedule.options().pull_overlap);
    last = version;
  }
  EXPECT_EQ(last, schedule.last_version()) << "the run's last version is pulled";
  EXPECT_EQ(covered, schedule.end());
}

TEST(SyncScheduleTest, PushesAndPullsOfEveryScheduleFitTogether) {
  for (int64_t k : {1, 2, 3, 4, 7}) {
    for (int64_t warmup : {0, 1, 5, 40}) {
      for (int64_t total : {1, 2, 13, 14, 30}) {
        for (Push push : {Push::kEveryStep, Push::kEveryPeriod}) {
          const SyncScheduleOptions options{
              .k = k, .warmup_steps = warmup, .pull_overlap = 1, .push = push, .total_steps = total};
          ExpectConsistent(SyncSchedule(options), kBlock);
          const StaggeredSchedule staggered(options);
          for (int64_t block = 0; block < k; ++block) ExpectConsistent(staggered, BlockId(block));
        }
      }
    }
  }
}

std::vector<int64_t> Evaluated(const SyncScheduleOptions& options) {
  const SyncSchedule schedule(options);
  std::vector<int64_t> versions;
  for (Version version(0); version <= schedule.last_version(); ++version) {
    if (schedule.IsEvaluated(version)) versions.push_back(version.value());
  }
  return versions;
}

TEST(SyncScheduleTest, EvaluatesTheFirstPulledVersionAtOrAfterEachPoint) {
  SyncScheduleOptions options = Ssd(1);  // pulled: 1 2 3 7 11 14
  options.evaluation_interval = 5;       // due: 5 10 15
  EXPECT_THAT(Evaluated(options), ElementsAre(7, 11, 14));
  options.evaluation_interval = 7;  // due: 7 14
  EXPECT_THAT(Evaluated(options), ElementsAre(7, 14));
}

TEST(SyncScheduleTest, EpochsNeedNotBeWholeNumbersOfSteps) {
  SyncScheduleOptions options{.policy = Policy::kSsgd, .total_steps = 11};
  options.evaluation_interval = 2.5;  // due: 2.5 5 7.5 10
  EXPECT_THAT(Evaluated(options), ElementsAre(3, 5, 8, 10, 11));
  options.evaluation_interval = 11.0 / 3;  // due: 3.67 7.33 11
  EXPECT_THAT(Evaluated(options), ElementsAre(4, 8, 11));
}

TEST(SyncScheduleTest, RoundingOfAnEpochMovesNoEvaluation) {
  SyncScheduleOptions options{.policy = Policy::kSsgd, .total_steps = 30};
  options.evaluation_interval = 0.1 * 3 * 10;  // 3, but for rounding
  ASSERT_GT(options.evaluation_interval, 3);
  EXPECT_THAT(Evaluated(options), ElementsAre(3, 6, 9, 12, 15, 18, 21, 24, 27, 30));
}

TEST(SyncScheduleTest, SeveralPointsInOnePeriodAreOneEvaluation) {
  SyncScheduleOptions options = Ssd(1);
  options.warmup_steps = 0;  // pulled: 4 8 12 14
  options.evaluation_interval = 0.5;
  EXPECT_THAT(Evaluated(options), ElementsAre(4, 8, 12, 14));
}

TEST(SyncScheduleTest, WithoutAnIntervalOnlyTheLastVersionIsEvaluated) {
  EXPECT_THAT(Evaluated(Ssd(1)), ElementsAre(14));
}

}  // namespace
}  // namespace ssd
