// What ParameterShard refuses, holds back and keeps bounded.
#include <limits>

#include "tests/server/shard_fixture.h"

namespace ssd {
namespace {

using ::testing::AllOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::kAlice;
using testing::kBob;
using testing::kFirst;
using testing::kSecond;
using testing::ShardSetup;
using testing::SmallShard;
using testing::StatusIs;

using Code = absl::StatusCode;
using Push = SyncScheduleOptions::Push;
constexpr BlockId kStatistics(2), kNone(3);
constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                kInfinity = std::numeric_limits<float>::infinity();

SyncScheduleOptions Ssd(int64_t k, Push push = Push::kEveryStep, int64_t total = 100) {
  return {.k = k, .pull_overlap = 1, .push = push, .total_steps = total};
}

TEST(ParameterShardErrorsTest, BlocksOfOthersAreNotFoundAndTheirOwnerNamed) {
  SmallShard small({.num_shards = 2});
  small.Begin();
  EXPECT_THAT(small.Push(kAlice, kSecond, 0, {1, 1}),
              StatusIs(Code::kNotFound, "block 1 belongs to shard 1, this is shard 0"));
  EXPECT_THAT(small.Push(kAlice, kNone, 0, {1, 1}), StatusIs(Code::kNotFound, "block 3 of 3"));
  EXPECT_THAT(small.shard.SetInitial(kNone, Floats({1, 2})), StatusIs(Code::kNotFound, "block 3 of 3"));
  EXPECT_THAT(small.Pull(kSecond, 0), HasSubstr("NOT_FOUND: block 1 belongs to shard 1"));
}

TEST(ParameterShardErrorsTest, AnotherSizeIsInvalid) {
  SmallShard small;
  EXPECT_THAT(small.shard.SetInitial(kFirst, Floats({1})),
              StatusIs(Code::kInvalidArgument, "initial block 0: got 1 floats, layout says 2"));
  small.Begin();
  EXPECT_THAT(small.Push(kAlice, kFirst, 0, {1, 2, 3}),
              StatusIs(Code::kInvalidArgument, AllOf(HasSubstr("got 3 floats, layout says 2"),
                                                     HasSubstr("block 0 by worker 0 after step 0"))));
  EXPECT_THAT(small.Push(kAlice, kFirst, 0, {}), StatusIs(Code::kInvalidArgument, HasSubstr("got 0 floats")));
}

TEST(ParameterShardErrorsTest, Version0IsGivenOnce) {
  SmallShard small;
  small.Begin();
  EXPECT_THAT(small.shard.SetInitial(kFirst, Floats({1, 2})),
              StatusIs(Code::kAlreadyExists, "version 0 of block 0"));
}

TEST(ParameterShardErrorsTest, AStepIsGivenOnceAndNoneIsLeftOut) {
  SmallShard small({.schedule = Ssd(4)});
  small.Begin();
  EXPECT_OK(small.Push(kAlice, kFirst, 0, {1, 1}));
  EXPECT_THAT(small.Push(kAlice, kFirst, 0, {1, 1}),
              StatusIs(Code::kAlreadyExists, HasSubstr("version 1 before")));
  EXPECT_THAT(small.Push(kAlice, kFirst, 2, {1, 1}),
              StatusIs(Code::kOutOfRange, HasSubstr("its push for version 2 is missing")));
  EXPECT_OK(small.Push(kAlice, kFirst, 1, {1, 1})) << "errors change nothing";
}

TEST(ParameterShardErrorsTest, PushesBeforeVersion0AreTooEarly) {
  SmallShard small;
  EXPECT_THAT(small.Push(kBob, kFirst, 0, {1, 1}),
              StatusIs(Code::kOutOfRange, HasSubstr("version 0 is not there")));
}

TEST(ParameterShardErrorsTest, StepsOutsideTheRunAreInvalid) {
  SmallShard small;
  small.Begin();
  for (int64_t step : {int64_t{-1}, int64_t{100}, std::numeric_limits<int64_t>::max(),
                       std::numeric_limits<int64_t>::min()}) {
    EXPECT_THAT(small.Push(kAlice, kFirst, step, {1, 1}),
                StatusIs(Code::kInvalidArgument, HasSubstr("is not pushed after step")))
        << step;
  }
}

TEST(ParameterShardErrorsTest, EveryPeriodTakesPushesAtPeriodsEndsAlone) {
  SmallShard small({.num_workers = 1, .schedule = Ssd(4, Push::kEveryPeriod, /*total=*/6)});
  small.Begin();
  EXPECT_THAT(small.Push(kAlice, kFirst, 0, {1, 1}), StatusIs(Code::kInvalidArgument, HasSubstr("step 0")));
  EXPECT_OK(small.Push(kAlice, kFirst, 3, {1, 1}));
  EXPECT_THAT(small.Push(kAlice, kFirst, 4, {1, 1}), StatusIs(Code::kInvalidArgument, HasSubstr("step 4")));
  EXPECT_OK(small.Push(kAlice, kFirst, 5, {1, 1})) << "the short last period";
  EXPECT_EQ(small.shard.CompleteVersion(), Version(0)) << "the other block";
  EXPECT_EQ(small.shard.Newest(kFirst)->version, Version(6));
}

TEST(ParameterShardErrorsTest, StatisticsComeBeforePullsAlone) {
  SmallShard small({.schedule = Ssd(4)});
  small.Begin();
  EXPECT_THAT(small.Push(kAlice, kStatistics, 2, {1, 1}),
              StatusIs(Code::kInvalidArgument, HasSubstr("step 2")));
  EXPECT_OK(small.Push(kAlice, kStatistics, 3, {1, 1}));
}

TEST(ParameterShardErrorsTest, TheLeadIsBoundedByTheSchedule) {
  SmallShard small({.schedule = Ssd(/*k=*/4)});
  small.Begin();
  for (int64_t step = 0; step < 5; ++step) EXPECT_OK(small.Push(kAlice, kFirst, step, {1, 1})) << step;
  EXPECT_THAT(small.Push(kAlice, kFirst, 5, {1, 1}),
              StatusIs(Code::kOutOfRange, HasSubstr("6 steps ahead, the schedule allows 5")));
  EXPECT_EQ(small.shard.TakeLead(), 5);
  EXPECT_EQ(small.shard.TakeLead(), 0);
  EXPECT_OK(small.Push(kBob, kFirst, 0, {1, 1}));
  EXPECT_EQ(small.shard.TakeLead(), 1);
  EXPECT_OK(small.Push(kAlice, kFirst, 5, {1, 1}));
}

TEST(ParameterShardErrorsTest, PullsOfWhatTheRunNeverHasAreOutOfRange) {
  SmallShard small({.schedule = Ssd(4)});
  small.Begin();
  for (int64_t version : {int64_t{-1}, int64_t{1}, int64_t{101}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_THAT(small.Pull(kFirst, version), HasSubstr("OUT_OF_RANGE: pull of block 0: version ")) << version;
  }
  EXPECT_THAT(small.Pull(kFirst, 101, /*exact=*/false), HasSubstr("the last is 100"));
  EXPECT_EQ(small.Pull(kFirst, 100), "parked");
}

TEST(ParameterShardErrorsTest, NonFiniteValuesNameTheTensorWorkerAndStep) {
  SmallShard small;
  small.Begin();
  EXPECT_THAT(small.Push(kBob, kSecond, 0, {1, kNan}),
              StatusIs(Code::kDataLoss,
                       "a value that is not finite (nan) in the gradient of fc from worker 1 at step 0"));
  EXPECT_THAT(small.Push(kBob, kFirst, 0, {-kInfinity, 1}),
              StatusIs(Code::kDataLoss, AllOf(HasSubstr("(-inf)"), HasSubstr("of conv"))));
  EXPECT_THAT(small.Push(kAlice, kStatistics, 0, {kInfinity, 1}),
              StatusIs(Code::kDataLoss, HasSubstr("in the statistics of bn from worker 0")));
  EXPECT_OK(small.Push(kBob, kFirst, 0, {std::numeric_limits<float>::max(), -1e-45f})) << "these are finite";
}

TEST(ParameterShardErrorsTest, NonFiniteInitialWeightsAreRefused) {
  SmallShard small;
  EXPECT_THAT(small.shard.SetInitial(kFirst, Floats({1, kNan})),
              StatusIs(Code::kDataLoss, HasSubstr("in version 0 of conv from worker 0")));
}

TEST(ParameterShardMayPushTest, AlwaysTrueWhenNotDeterministic) {
  SmallShard small({.schedule = Ssd(4)});
  small.Begin();
  EXPECT_TRUE(small.shard.MayPush(Step(99)));
}

TEST(ParameterShardMayPushTest, TheLowestOpenStepAndTheNextMayCome) {
  SmallShard small({.deterministic = true, .schedule = Ssd(4)});
  small.Begin();
  EXPECT_TRUE(small.shard.MayPush(Step(0)));
  EXPECT_TRUE(small.shard.MayPush(Step(1)));
  EXPECT_FALSE(small.shard.MayPush(Step(2)));
  for (WorkerId worker : {kAlice, kBob}) EXPECT_OK(small.Push(worker, kFirst, 0, {1, 1}));
  EXPECT_FALSE(small.shard.MayPush(Step(2))) << "the other block is still at version 0";
  for (WorkerId worker : {kAlice, kBob}) EXPECT_OK(small.Push(worker, kSecond, 0, {1, 1}));
  EXPECT_TRUE(small.shard.MayPush(Step(2)));
  EXPECT_FALSE(small.shard.MayPush(Step(3)));
}

TEST(ParameterShardMayPushTest, WithEveryPeriodThePushIsAPeriod) {
  SmallShard small({.deterministic = true, .schedule = Ssd(4, Push::kEveryPeriod, /*total=*/14)});
  small.Begin();
  EXPECT_TRUE(small.shard.MayPush(Step(3)));
  EXPECT_TRUE(small.shard.MayPush(Step(7)));
  EXPECT_FALSE(small.shard.MayPush(Step(11)));
  for (WorkerId worker : {kAlice, kBob}) {
    for (BlockId block : {kFirst, kSecond}) EXPECT_OK(small.Push(worker, block, 3, {1, 1}));
  }
  EXPECT_TRUE(small.shard.MayPush(Step(11)));
  EXPECT_FALSE(small.shard.MayPush(Step(13)));
}

TEST(ParameterShardMayPushTest, WhatPushRefusesIsNotHeldForEver) {
  SmallShard small({.deterministic = true});
  small.Begin();
  EXPECT_TRUE(small.shard.MayPush(Step(100)));
  EXPECT_TRUE(small.shard.MayPush(Step(-1)));
}

// Runs `steps` of both workers, one always ahead as far as it may, and returns the buffers of the pool.
int64_t BuffersAfter(SmallShard& small, int64_t first, int64_t steps, int64_t lead) {
  for (int64_t step = first; step < first + steps; ++step) {
    for (const auto& [worker, at] : {std::pair{kAlice, step}, std::pair{kBob, step - lead}}) {
      if (at < 0) continue;
      for (BlockId block : {kFirst, kSecond}) {
        MutableBuffer gradient = small.pool.Acquire(2);
        gradient.values()[0] = gradient.values()[1] = 1;
        EXPECT_OK(small.shard.Push(worker, block, Step(at), std::move(gradient).Freeze()));
        const Version version(at + 1);
        if (small.shard.schedule().IsPulled(version, block)) small.Pull(block, version.value());
      }
    }
  }
  return small.pool.allocations();
}

TEST(ParameterShardMemoryTest, IsConstantOverAThousandSteps) {
  for (bool deterministic : {false, true}) {
    SyncScheduleOptions schedule = Ssd(/*k=*/4, Push::kEveryStep, /*total=*/1001);
    SmallShard small({.deterministic = deterministic, .schedule = schedule});
    small.Begin();
    const int64_t lead = deterministic ? 1 : 4;
    const int64_t early = BuffersAfter(small, 0, 20, lead);
    EXPECT_EQ(BuffersAfter(small, 20, 980, lead), early);
    // Of a block: weights, velocity, two pinned of both, the next of both, and the updates under way.
    EXPECT_LE(early, 2 * (2 + 4 + 2 + 5 + 1));
  }
}

}  // namespace
}  // namespace ssd
