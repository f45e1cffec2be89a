#include "worker/data/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>

namespace ssd {
namespace {

TEST(RandomTest, SequencesOfDifferentKeysAreDifferent) {
  std::set<uint64_t> seen;
  for (uint64_t seed : {0, 1, 2}) {
    for (Random::Purpose purpose : {Random::kDataOrder, Random::kAugmentation}) {
      for (uint64_t index : {0, 1, 2}) {
        Random random(seed, purpose, index);
        for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.insert(random.Next()).second);
      }
    }
  }
}

TEST(RandomTest, BelowGivesEveryResultEquallyOften) {
  Random random(1, Random::kDataOrder, 0);
  std::array<int, 7> counts = {};
  for (int i = 0; i < 70'000; ++i) ++counts.at(random.Below(7));
  // Five standard deviations: sqrt(70000 * 1/7 * 6/7) = 92.6.
  for (int count : counts) EXPECT_NEAR(count, 10'000, 463);
}

TEST(RandomTest, BelowDrawsAgainWhereAResultWouldBeFavoured) {
  // With n = 2^63 + 1, almost half of all draws are below 2^64 mod n = 2^63 - 1; taken modulo n, they would
  // make that many results twice as likely as the two others.
  constexpr uint64_t kMany = (uint64_t{1} << 63) + 1;
  int redrawn = 0;
  for (uint64_t index = 0; index < 1000; ++index) {
    Random random(1, Random::kDataOrder, index), raw(1, Random::kDataOrder, index);
    uint64_t draw = raw.Next();
    for (; draw < kMany - 2; draw = raw.Next()) ++redrawn;
    EXPECT_EQ(random.Below(kMany), draw % kMany);
  }
  EXPECT_NEAR(redrawn, 1000, 250);  // geometric: mean 1, standard deviation sqrt(2), of 1000
}

TEST(RandomTest, BelowOneIsZeroAndUniformStaysInItsRange) {
  Random random(1, Random::kDataOrder, 0);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_EQ(random.Below(1), 0u);
    const double draw = random.Uniform(-1, 3);
    EXPECT_GE(draw, -1);
    EXPECT_LT(draw, 3);
    sum += draw;
  }
  EXPECT_NEAR(sum / 10'000, 1, 0.06);  // five standard deviations: 4 / sqrt(12) / 100 = 0.0115
}

}  // namespace
}  // namespace ssd
