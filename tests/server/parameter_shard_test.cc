#include "server/parameter_shard.h"

#include "tests/server/shard_fixture.h"

namespace ssd {
namespace {

using ::testing::ElementsAre;
using testing::Floats;
using ::testing::IsEmpty;
using testing::kAlice;
using testing::kBob;
using testing::kFirst;
using testing::kSecond;
using testing::ShardSetup;
using testing::SmallShard;

constexpr BlockId kStatistics(2);

SyncScheduleOptions Ssd(int64_t k, SyncScheduleOptions::Push push = SyncScheduleOptions::Push::kEveryStep) {
  return {.k = k, .pull_overlap = 1, .push = push, .total_steps = 100};
}

TEST(ParameterShardTest, UpdateIsMadeOfTheMeanOverWorkers) {
  SmallShard small;
  small.Begin();
  EXPECT_OK(small.Push(kAlice, kFirst, 0, {1, 1}));
  EXPECT_EQ(small.shard.Newest(kFirst)->version, Version(0));
  EXPECT_OK(small.Push(kBob, kFirst, 0, {3, 5}));
  const auto newest = small.shard.Newest(kFirst);
  EXPECT_EQ(newest->version, Version(1));
  EXPECT_THAT(newest->values.values(), ElementsAre(1 - 2, 2 - 3));
  EXPECT_THAT(newest->velocity.values(), ElementsAre(2, 3));
  EXPECT_EQ(small.shard.Newest(kSecond)->version, Version(0)) << "blocks go on their own";
  EXPECT_EQ(small.shard.CompleteVersion(), Version(0)) << "the lowest";
}

TEST(ParameterShardTest, PullsWaitUntilTheirVersionIsThere) {
  SmallShard small;
  EXPECT_EQ(small.Pull(kFirst, 0), "parked");
  EXPECT_EQ(small.Pull(kFirst, 1), "parked");
  EXPECT_EQ(small.shard.parked_pulls(), 2);
  small.Begin();
  EXPECT_EQ(small.answer(0), "v0: 1 2");
  EXPECT_EQ(small.answer(1), "parked");
  EXPECT_OK(small.Push(kAlice, kFirst, 0, {1, 1}));
  EXPECT_EQ(small.answer(1), "parked");
  EXPECT_OK(small.Push(kBob, kFirst, 0, {1, 1}));
  EXPECT_EQ(small.answer(1), "v1: 0 1");
  EXPECT_EQ(small.shard.parked_pulls(), 0);
}

TEST(ParameterShardTest, ExactPullsGetThePinnedVersionAlthoughThereIsANewerOne) {
  SmallShard small({.num_workers = 1, .schedule = Ssd(/*k=*/2)});
  small.Begin();
  for (int64_t step = 0; step < 3; ++step) EXPECT_OK(small.Push(kAlice, kFirst, step, {1, 0}));
  EXPECT_EQ(small.Pull(kFirst, 2), "v2: -1 2");
  EXPECT_EQ(small.Pull(kFirst, 0), "v0: 1 2");
  EXPECT_EQ(small.Pull(kFirst, 2, /*exact=*/false), "v3: -2 2") << "at least: the newest";
  EXPECT_EQ(small.Pull(kFirst, 4), "parked");
}

TEST(ParameterShardTest, AtLeastTakesVersionsThatNobodyPullsExactly) {
  SmallShard small({.num_workers = 1, .schedule = Ssd(2)});
  small.Begin();
  EXPECT_EQ(small.Pull(kFirst, 1, /*exact=*/false), "parked");
  EXPECT_OK(small.Push(kAlice, kFirst, 0, {1, 0}));
  EXPECT_EQ(small.answer(0), "v1: 0 2");
  EXPECT_THAT(small.Pull(kFirst, 1, /*exact=*/true), ::testing::HasSubstr("OUT_OF_RANGE"));
}

TEST(ParameterShardTest, TheLastTwoPulledVersionsAreKept) {
  SmallShard small({.num_workers = 1, .schedule = Ssd(2)});
  small.Begin();
  for (int64_t step = 0; step < 5; ++step) EXPECT_OK(small.Push(kAlice, kFirst, step, {1, 0}));
  EXPECT_EQ(small.Pull(kFirst, 2), "v2: -1 2");
  EXPECT_EQ(small.Pull(kFirst, 4), "v4: -3 2");
  EXPECT_EQ(small.Pull(kFirst, 0),
            "FAILED_PRECONDITION: pull of block 0: version 0 is no longer held; the newest is 5");
}

TEST(ParameterShardTest, EverybodySkipsAndTheVersionRises) {
  SmallShard small;
  small.Begin();
  EXPECT_OK(small.shard.Push(kAlice, kFirst, Step(0), std::nullopt));
  EXPECT_OK(small.shard.Push(kBob, kFirst, Step(0), std::nullopt));
  EXPECT_EQ(small.Pull(kFirst, 1), "v1: 1 2");
  EXPECT_THAT(small.shard.Newest(kFirst)->velocity.values(), ElementsAre(0, 0));
}

TEST(ParameterShardTest, OneSkipsAndTheMeanIsOverTheOther) {
  SmallShard small;
  small.Begin();
  EXPECT_OK(small.shard.Push(kAlice, kFirst, Step(0), std::nullopt));
  EXPECT_OK(small.Push(kBob, kFirst, 0, {4, 6}));
  EXPECT_EQ(small.Pull(kFirst, 1), "v1: -3 -4");
}

TEST(ParameterShardTest, EveryPeriodMakesThePeriodsStepsAtOnce) {
  SmallShard small({.num_workers = 1,
                    .optimizer = {.momentum = 0.5},
                    .schedule = Ssd(2, SyncScheduleOptions::Push::kEveryPeriod)});
  small.Begin();
  EXPECT_OK(small.Push(kAlice, kFirst, 1, {1, 0}));
  // v = 1, then 1.5; W = 1 - 1 - 1.5.
  EXPECT_EQ(small.Pull(kFirst, 2), "v2: -1.5 2");
  EXPECT_THAT(small.shard.Newest(kFirst)->velocity.values(), ElementsAre(1.5, 0));
}

TEST(ParameterShardTest, StatisticsAreTheMeanOfTheWorkersOwn) {
  SmallShard small({.schedule = Ssd(2)});
  small.Begin();
  EXPECT_OK(small.Push(kAlice, kStatistics, 1, {1, 10}));
  EXPECT_OK(small.Push(kBob, kStatistics, 1, {2, 20}));
  EXPECT_EQ(small.Pull(kStatistics, 2), "v2: 1.5 15");
  EXPECT_OK(small.Push(kAlice, kStatistics, 3, {4, 4}));
  EXPECT_OK(small.Push(kBob, kStatistics, 3, {4, 4}));
  EXPECT_EQ(small.Pull(kStatistics, 4), "v4: 4 4") << "no momentum, no decay";
}

TEST(ParameterShardTest, StragglersAreThoseWhoHoldUpTheLowestVersion) {
  SmallShard small;
  EXPECT_THAT(small.shard.Stragglers(), IsEmpty()) << "nobody waits yet";
  EXPECT_EQ(small.Pull(kFirst, 0), "parked");
  ASSERT_EQ(small.shard.Stragglers().size(), 1u);
  EXPECT_EQ(small.shard.Stragglers()[0].worker, kAlice) << "who owes version 0";
  small.Begin();
  EXPECT_THAT(small.shard.Stragglers(), IsEmpty());
  EXPECT_OK(small.Push(kAlice, kFirst, 0, {1, 1}));
  EXPECT_OK(small.Push(kAlice, kSecond, 0, {1, 1}));
  ASSERT_EQ(small.shard.Stragglers().size(), 1u) << "named once, though two blocks wait";
  EXPECT_EQ(small.shard.Stragglers()[0].worker, kBob);
  EXPECT_EQ(small.shard.Stragglers()[0].step, Step(0));
  EXPECT_OK(small.Push(kBob, kFirst, 0, {1, 1}));
  EXPECT_OK(small.Push(kBob, kSecond, 0, {1, 1}));
  EXPECT_THAT(small.shard.Stragglers(), IsEmpty());
}

TEST(ParameterShardTest, CallbacksMayPullAgain) {
  SmallShard small({.num_workers = 1});
  std::vector<int64_t> versions;
  std::function<void(const ParameterShard::Snapshot&)> again = [&](const ParameterShard::Snapshot& snapshot) {
    versions.push_back(snapshot.version.value());
    EXPECT_OK(small.shard.Pull(kFirst, snapshot.version + 1, true, again));
  };
  EXPECT_OK(small.shard.Pull(kFirst, Version(0), true, again));
  small.Begin();
  for (int64_t step = 0; step < 3; ++step) EXPECT_OK(small.Push(kAlice, kFirst, step, {1, 1}));
  EXPECT_THAT(versions, ElementsAre(0, 1, 2, 3));
}

TEST(ParameterShardTest, WhoReadsAnOldVersionIsNotDisturbedByUpdates) {
  SmallShard small({.num_workers = 1});
  small.Begin();
  const Buffer held = small.shard.Newest(kFirst)->values;
  for (int64_t step = 0; step < 10; ++step) EXPECT_OK(small.Push(kAlice, kFirst, step, {1, 1}));
  EXPECT_THAT(held.values(), ElementsAre(1, 2));
}

}  // namespace
}  // namespace ssd
