#include "worker/data/augment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "worker/data/image_set.h"
#include "worker/data/normalizer.h"

namespace ssd {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

TEST(AugmentTest, DrawsAreTheSameOnEveryMachine) {
  // Computed with a few lines of another language from the description in random.h.
  EXPECT_EQ(DrawAugmentation(/*seed=*/1, /*position=*/0),
            (Augmentation{.shift_y = 0, .shift_x = -2, .mirror = true}));
  EXPECT_EQ(DrawAugmentation(1, 1), (Augmentation{.shift_y = 3, .shift_x = 4, .mirror = false}));
  EXPECT_EQ(DrawAugmentation(1, 2), (Augmentation{.shift_y = 0, .shift_x = -1, .mirror = true}));
  EXPECT_EQ(DrawAugmentation(1, 3), (Augmentation{.shift_y = 2, .shift_x = 2, .mirror = false}));
}

TEST(AugmentTest, ShiftsUpToFourPixelsEachWayAndMirrorsHalf) {
  std::array<int, 9> down = {}, right = {};
  int mirrored = 0;
  for (int64_t position = 0; position < 90'000; ++position) {
    const Augmentation draw = DrawAugmentation(/*seed=*/1, position);
    ++down.at(draw.shift_y + 4);
    ++right.at(draw.shift_x + 4);
    mirrored += draw.mirror;
  }
  // Five standard deviations: sqrt(90000 / 9 * 8 / 9) = 94 and sqrt(90000 / 4) = 150.
  for (int count : down) EXPECT_NEAR(count, 10'000, 470);
  for (int count : right) EXPECT_NEAR(count, 10'000, 470);
  EXPECT_NEAR(mirrored, 45'000, 750);
}

// One row of three grey pixels, so normalised that pixel p becomes p - 51: black is -51.
ImageSet Row() {
  ImageSet set;
  set.shape = {.height = 1, .width = 3, .channels = 1};
  set.pixels = {10, 20, 30};
  set.labels = {0};
  set.mean = {51.0f / 255, 0, 0};
  set.std = {1.0f / 255, 1, 1};
  return set;
}

std::vector<int> Augmented(const ImageSet& set, const Augmentation& augmentation) {
  std::vector<float> out(set.shape.size());
  Normalizer(set).Write(set.image(0), augmentation, out);
  std::vector<int> rounded;
  for (float value : out) rounded.push_back(static_cast<int>(value + (value < 0 ? -0.5f : 0.5f)));
  return rounded;
}

TEST(AugmentTest, ShiftedImagesAreFilledWithBlackBeforeNormalisation) {
  const ImageSet set = Row();
  EXPECT_THAT(Augmented(set, {}), ElementsAre(10 - 51, 20 - 51, 30 - 51));
  EXPECT_THAT(Augmented(set, {.shift_x = 1}), ElementsAre(20 - 51, 30 - 51, 0 - 51));
  EXPECT_THAT(Augmented(set, {.shift_x = -2}), ElementsAre(0 - 51, 0 - 51, 10 - 51));
  EXPECT_THAT(Augmented(set, {.shift_y = 1}), ElementsAre(0 - 51, 0 - 51, 0 - 51));
}

TEST(AugmentTest, MirroringComesAfterTheShift) {
  const ImageSet set = Row();
  EXPECT_THAT(Augmented(set, {.mirror = true}), ElementsAre(30 - 51, 20 - 51, 10 - 51));
  EXPECT_THAT(Augmented(set, {.shift_x = 1, .mirror = true}), ElementsAre(0 - 51, 30 - 51, 20 - 51));
}

TEST(NormalizerTest, ChannelsHaveTheirOwnMeanAndStd) {
  ImageSet set;
  set.shape = {.height = 1, .width = 2, .channels = 3};
  set.pixels = {0, 0, 0, 255, 255, 255};
  set.labels = {0};
  set.mean = {0.5f, 0.25f, 0};
  set.std = {0.5f, 0.25f, 0.125f};
  std::vector<float> out(6);
  Normalizer(set).Write(set.image(0), Augmentation(), out);
  EXPECT_THAT(out, ElementsAre(FloatEq(-1), FloatEq(-1), FloatEq(0), FloatEq(1), FloatEq(3), FloatEq(8)));
}

TEST(NormalizerTest, RowsShiftWithTheirChannels) {
  ImageSet set;
  set.shape = {.height = 2, .width = 1, .channels = 2};
  set.pixels = {51, 102, 153, 204};
  set.labels = {0};
  std::vector<float> out(4);
  Normalizer(set).Write(set.image(0), {.shift_y = -1}, out);
  EXPECT_THAT(out, ElementsAre(FloatEq(0), FloatEq(0), FloatEq(0.2f), FloatEq(0.4f)));
}

}  // namespace
}  // namespace ssd
