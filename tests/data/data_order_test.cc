#include "worker/data/data_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace ssd {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::Not;

std::vector<int32_t> Ascending(int64_t count) {
  std::vector<int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<int32_t> Sorted(std::vector<int32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

TEST(EpochPermutationTest, IsABijection) {
  for (int64_t samples : {1, 2, 3, 10, 257, 5000}) {
    for (int64_t epoch : {0, 1, 1'000'000'007}) {
      EXPECT_EQ(Sorted(EpochPermutation(/*seed=*/7, epoch, samples)), Ascending(samples))
          << samples << " " << epoch;
    }
  }
}

// Computed with a few lines of another language from the description in random.h and data_order.cc.
TEST(EpochPermutationTest, IsTheSameOnEveryMachine) {
  EXPECT_THAT(EpochPermutation(/*seed=*/1, /*epoch=*/0, 10), ElementsAre(9, 1, 5, 4, 6, 7, 2, 3, 0, 8));
  EXPECT_THAT(EpochPermutation(/*seed=*/1, /*epoch=*/1, 10), ElementsAre(3, 4, 8, 0, 6, 1, 5, 7, 9, 2));
  EXPECT_THAT(EpochPermutation(/*seed=*/2, /*epoch=*/0, 10), ElementsAre(3, 4, 0, 2, 1, 6, 7, 5, 8, 9));
}

TEST(EpochPermutationTest, EveryPlaceTakesEverySampleEquallyOften) {
  std::vector<std::vector<int>> counts(5, std::vector<int>(5));  // [place][sample]
  for (int64_t epoch = 0; epoch < 10'000; ++epoch) {
    const std::vector<int32_t> order = EpochPermutation(/*seed=*/1, epoch, 5);
    for (int place = 0; place < 5; ++place) ++counts[place][order[place]];
  }
  // Five standard deviations: sqrt(10000 * 0.2 * 0.8) = 40.
  for (const auto& place : counts) {
    for (int count : place) EXPECT_NEAR(count, 2000, 200);
  }
}

TEST(DataOrderTest, FollowsTheWorkedExample) {
  const DataOrder order({.seed = 1, .samples = 10, .workers = 2, .batch = 3});
  EXPECT_EQ(order.global_batch(), 6);
  EXPECT_EQ(order.FirstPosition(Step(0), WorkerId(1)), 3);
  EXPECT_EQ(order.FirstPosition(Step(4), WorkerId(0)), 24);
  EXPECT_EQ(order.EndOfEpoch(0), Step(1));
  EXPECT_EQ(order.EndOfEpoch(1), Step(3));
  EXPECT_EQ(order.EndOfEpoch(2), Step(4));
  EXPECT_EQ(order.StepsInEpochs(0), 0);
  EXPECT_EQ(order.StepsInEpochs(3), 5);
  EXPECT_DOUBLE_EQ(order.steps_per_epoch(), 10.0 / 6);
  EXPECT_EQ(StepsPerEpoch(10, 2, 3), 2);
}

TEST(DataOrderTest, AnEpochThatFillsItsStepsEndsWithTheLastOfThem) {
  EXPECT_EQ(StepsPerEpoch(20'000, 4, 50), 100);
  const DataOrder order({.seed = 1, .samples = 20'000, .workers = 4, .batch = 50});
  EXPECT_EQ(order.EndOfEpoch(0), Step(99));
  EXPECT_EQ(order.EndOfEpoch(11), Step(1199));
  EXPECT_EQ(StepsPerEpoch(50'000, 4, 32), 391);  // 390.625
}

// Reads the stream as the workers do, step by step, and cuts it at the epochs' borders.
TEST(DataOrderTest, NoSampleIsLostOrRepeatedOverEpochBorders) {
  struct Case {
    int64_t samples, workers, batch;
  };
  for (const Case& c :
       {Case{10, 2, 3}, Case{101, 3, 7}, Case{64, 4, 16}, Case{5, 3, 4}, Case{1, 1, 2}, Case{97, 1, 97}}) {
    const DataOrder::Options options{.seed = 5, .samples = c.samples, .workers = c.workers, .batch = c.batch};
    constexpr int64_t kEpochs = 6;
    std::vector<DataOrder> workers(c.workers, DataOrder(options));
    std::vector<int32_t> stream;
    for (Step step; step.value() < workers[0].StepsInEpochs(kEpochs); ++step) {
      for (int64_t i = 0; i < c.workers; ++i) {
        const int64_t first = workers[i].FirstPosition(step, WorkerId(i));
        for (int64_t b = 0; b < c.batch; ++b) stream.push_back(workers[i].SampleAt(first + b));
      }
    }
    ASSERT_GE(static_cast<int64_t>(stream.size()), kEpochs * c.samples);
    for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const std::vector<int32_t> seen(stream.begin() + epoch * c.samples,
                                      stream.begin() + (epoch + 1) * c.samples);
      EXPECT_EQ(seen, EpochPermutation(options.seed, epoch, c.samples)) << "samples=" << c.samples;
      EXPECT_EQ(Sorted(seen), Ascending(c.samples)) << "samples=" << c.samples << " epoch=" << epoch;
    }
  }
}

TEST(DataOrderTest, APositionHasOneSampleInWhateverOrderPositionsAreAsked) {
  DataOrder forward({.seed = 9, .samples = 7, .workers = 1, .batch = 1});
  DataOrder jumping = forward;
  std::vector<int32_t> stream;
  for (int64_t position = 0; position < 70; ++position) stream.push_back(forward.SampleAt(position));
  for (int64_t i = 0; i < 70; ++i) {
    const int64_t position = (i * 33) % 70;  // 33 and 70 share no divisor: every position once
    EXPECT_EQ(jumping.SampleAt(position), stream[position]) << position;
  }
}

TEST(DataOrderTest, EpochsAndSeedsHaveOrdersOfTheirOwn) {
  const std::vector<int32_t> order = EpochPermutation(/*seed=*/1, /*epoch=*/0, 100);
  EXPECT_THAT(EpochPermutation(/*seed=*/1, /*epoch=*/1, 100), Not(ElementsAreArray(order)));
  EXPECT_THAT(EpochPermutation(/*seed=*/2, /*epoch=*/0, 100), Not(ElementsAreArray(order)));
}

}  // namespace
}  // namespace ssd
