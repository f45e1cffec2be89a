#include "deploy/run/page/axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ssd {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Le;
using ::testing::SizeIs;

TEST(AxisTest, TicksAreRoundAndEndsMoveOutToThem) {
  const Axis axis = MakeAxis(0.13, 2.34, /*max_ticks=*/6, /*round_ends=*/true);
  EXPECT_EQ(axis.tick, 0.5);
  EXPECT_EQ(axis.low, 0);
  EXPECT_EQ(axis.high, 2.5);
  EXPECT_THAT(axis.Ticks(), ElementsAre(0, 0.5, 1, 1.5, 2, 2.5));
  EXPECT_EQ(axis.Label(0.5), "0.5");
  EXPECT_EQ(axis.Position(0), 0);
  EXPECT_EQ(axis.Position(1.25), 0.5);
}

TEST(AxisTest, EndsThatStayNeedNoTick) {
  const Axis axis = MakeAxis(0, 6.00064, 6, false);
  EXPECT_EQ(axis.high, 6.00064);
  EXPECT_THAT(axis.Ticks(), ElementsAre(0, 2, 4, 6));
  EXPECT_EQ(axis.Label(6), "6");
}

TEST(AxisTest, ATickThatARoundingErrorPutsBeyondTheEndIsThere) {
  EXPECT_THAT(MakeAxis(0, 0.3, 3, false).Ticks(),
              ElementsAre(0, DoubleNear(0.1, 1e-12), DoubleNear(0.2, 1e-12), DoubleNear(0.3, 1e-12)));
}

TEST(AxisTest, ARangeWithoutWidthIsWidened) {
  for (const double value : {0.0, 1.0, -3.0, 80.52, 1e300}) {
    for (const bool round : {false, true}) {
      const Axis axis = MakeAxis(value, value, 6, round);
      EXPECT_LT(axis.low, axis.high) << value;
      EXPECT_GE(axis.Position(value), 0) << value;
      EXPECT_LE(axis.Position(value), 1) << value;
    }
  }
}

TEST(AxisTest, WhateverTheRangeThereAreFewTicksAndShortLabels) {
  for (const double high : {1e-9, 0.003, 7.0, 99.9, 12345.0, 1e16 + 2, 1e300}) {
    for (const double low : {0.0, high * 0.9, high * (1 - 1e-12)}) {
      const Axis axis = MakeAxis(low, high, 6, true);
      EXPECT_THAT(axis.Ticks(), SizeIs(Le(9u))) << low << " " << high;
      for (const double tick : axis.Ticks()) EXPECT_LE(axis.Label(tick).size(), 10u) << axis.Label(tick);
    }
  }
}

}  // namespace
}  // namespace ssd
