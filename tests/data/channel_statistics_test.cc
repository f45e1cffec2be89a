#include "worker/data/channel_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ssd {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(ChannelStatisticsTest, MeanAndStdAreByChannelOverAllImages) {
  ImageSet set;
  set.shape = {.height = 1, .width = 1, .channels = 3};
  set.pixels = {0, 51, 102, 255, 51, 204};  // two images of one pixel
  set.labels = {0, 0};
  const ChannelStatistics statistics = ComputeChannelStatistics(set);
  EXPECT_THAT(statistics.mean,
              ElementsAre(DoubleNear(0.5, 1e-12), DoubleNear(0.2, 1e-12), DoubleNear(0.6, 1e-12)));
  EXPECT_THAT(statistics.std,
              ElementsAre(DoubleNear(0.5, 1e-12), DoubleNear(0, 1e-12), DoubleNear(0.2, 1e-12)));
}

}  // namespace
}  // namespace ssd
