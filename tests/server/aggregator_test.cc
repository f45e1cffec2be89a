#include "server/aggregator.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace ssd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr WorkerId kAlice(0), kBob(1), kCarol(2);

class AggregatorTest : public ::testing::Test {
 protected:
  Buffer Floats(std::vector<float> values) { return Buffer::Copy(values); }
  Aggregator Make(int num_workers, bool deterministic = false) {
    return Aggregator({.num_workers = num_workers, .deterministic = deterministic}, &pool_);
  }

  BufferPool pool_;
};

std::vector<float> Values(const std::optional<Aggregator::Sum>& sum) {
  return {sum->sum.values().begin(), sum->sum.values().end()};
}

TEST_F(AggregatorTest, CompletesWhenTheLastWorkerHasGiven) {
  Aggregator aggregator = Make(2);
  aggregator.Add(kBob, Floats({1, 2}));
  EXPECT_FALSE(aggregator.TakeComplete().has_value());
  EXPECT_TRUE(aggregator.under_way());
  aggregator.Add(kAlice, Floats({10, 20}));
  const auto sum = aggregator.TakeComplete();
  ASSERT_TRUE(sum.has_value());
  EXPECT_THAT(Values(sum), ElementsAre(11, 22));
  EXPECT_EQ(sum->count, 2);
  EXPECT_FALSE(aggregator.under_way());
  EXPECT_FALSE(aggregator.TakeComplete().has_value()) << "it is taken once";
}

TEST_F(AggregatorTest, OneWorkersGradientIsTheSumAndIsNotCopied) {
  Aggregator aggregator = Make(1);
  const Buffer gradient = Floats({3});
  aggregator.Add(kAlice, gradient);
  EXPECT_EQ(aggregator.TakeComplete()->sum.values().data(), gradient.values().data());
}

TEST_F(AggregatorTest, AFastWorkerBeginsLaterUpdatesWhichCompleteInOrder) {
  Aggregator aggregator = Make(2);
  for (float value : {1, 2, 3}) aggregator.Add(kAlice, Floats({value}));
  for (float value : {10, 20, 30}) {
    EXPECT_FALSE(aggregator.TakeComplete().has_value());
    aggregator.Add(kBob, Floats({value}));
    EXPECT_THAT(Values(aggregator.TakeComplete()), ElementsAre(value + value / 10));
  }
}

TEST_F(AggregatorTest, MissingNamesThoseWhoHaveNotAnsweredTheFirstUpdate) {
  Aggregator aggregator = Make(3);
  EXPECT_THAT(aggregator.Missing(), ElementsAre(kAlice, kBob, kCarol));
  aggregator.Add(kBob, Floats({1}));
  aggregator.Add(kBob, Floats({1}));
  EXPECT_THAT(aggregator.Missing(), ElementsAre(kAlice, kCarol));
  aggregator.Add(kAlice, Floats({1}));
  aggregator.Add(kCarol, Floats({1}));
  EXPECT_THAT(aggregator.Missing(), IsEmpty()) << "complete, and not taken yet";
  (void)aggregator.TakeComplete();
  EXPECT_THAT(aggregator.Missing(), ElementsAre(kAlice, kCarol)) << "of the second one";
}

class AggregatorModeTest : public AggregatorTest, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Both, AggregatorModeTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Deterministic" : "ByArrival"; });

TEST_P(AggregatorModeTest, WhoSkipsIsNotCounted) {
  Aggregator aggregator = Make(3, GetParam());
  aggregator.Add(kBob, std::nullopt);
  aggregator.Add(kCarol, Floats({5}));
  aggregator.Add(kAlice, Floats({1}));
  const auto sum = aggregator.TakeComplete();
  EXPECT_THAT(Values(sum), ElementsAre(6));
  EXPECT_EQ(sum->count, 2);
}

TEST_P(AggregatorModeTest, AllSkippedIsCompleteAndEmpty) {
  Aggregator aggregator = Make(2, GetParam());
  aggregator.Add(kAlice, std::nullopt);
  aggregator.Add(kBob, std::nullopt);
  const auto sum = aggregator.TakeComplete();
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->count, 0);
  EXPECT_TRUE(sum->sum.empty());
}

TEST_P(AggregatorModeTest, GivenGradientsAreNeverWritten) {
  Aggregator aggregator = Make(3, GetParam());
  const std::vector<Buffer> given = {Floats({1}), Floats({2}), Floats({4})};
  for (int i = 0; i < 3; ++i) aggregator.Add(WorkerId(i), given[i]);
  EXPECT_THAT(Values(aggregator.TakeComplete()), ElementsAre(7));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(given[i].values()[0], static_cast<float>(1 << i));
}

TEST_P(AggregatorModeTest, MemoryIsConstantOverManySteps) {
  Aggregator aggregator = Make(3, GetParam());
  for (int step = 0; step < 1000; ++step) {
    for (int i = 0; i < 3; ++i) aggregator.Add(WorkerId((i + step) % 3), pool_.Acquire(4).Freeze());
    ASSERT_TRUE(aggregator.TakeComplete().has_value());
  }
  EXPECT_LE(pool_.allocations(), 4);
}

// In worker order (1e8 + 1) - 1e8 = 0, for 1e8 + 1 rounds to 1e8; 1e8 - 1e8 + 1 would be 1.
TEST_F(AggregatorTest, DeterministicSumsAreInWorkerOrderWhateverTheArrival) {
  const std::vector<float> values = {1e8f, 1, -1e8f};
  std::vector<int> order = {0, 1, 2};
  do {
    Aggregator aggregator = Make(3, /*deterministic=*/true);
    for (int worker : order) aggregator.Add(WorkerId(worker), Floats({values[worker]}));
    EXPECT_THAT(Values(aggregator.TakeComplete()), ElementsAre(0)) << order[0] << order[1] << order[2];
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(AggregatorTest, ByArrivalTheOrderShows) {
  Aggregator aggregator = Make(3);
  aggregator.Add(kAlice, Floats({1e8f}));
  aggregator.Add(kCarol, Floats({-1e8f}));
  aggregator.Add(kBob, Floats({1}));
  EXPECT_THAT(Values(aggregator.TakeComplete()), ElementsAre(1)) << "or the test above shows nothing";
}

TEST_F(AggregatorTest, DeterministicOrderHoldsWithUpdatesUnderWayAndSkips) {
  Aggregator aggregator = Make(4, /*deterministic=*/true);
  const WorkerId dave(3);
  aggregator.Add(dave, Floats({-1e8f}));
  aggregator.Add(dave, Floats({7}));
  aggregator.Add(kCarol, Floats({1}));
  aggregator.Add(kBob, std::nullopt);
  aggregator.Add(kAlice, Floats({1e8f}));
  const auto sum = aggregator.TakeComplete();
  EXPECT_THAT(Values(sum), ElementsAre(0));
  EXPECT_EQ(sum->count, 3);
  for (WorkerId worker : {kCarol, kBob, kAlice}) aggregator.Add(worker, std::nullopt);
  EXPECT_THAT(Values(aggregator.TakeComplete()), ElementsAre(7)) << "the second update kept its own";
}

}  // namespace
}  // namespace ssd
