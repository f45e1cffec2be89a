// The functor that makes batches on the device beside the CPU's Normalizer: the same floats, bit for bit.
#include "models/cuda/functors/image_normalization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/host_launch.h"
#include "worker/data/normalizer.h"
#include "worker/data/shapes.h"

namespace ssd {
namespace {

using ::testing::ElementsAre;

struct Draw {
  int32_t image;
  Augmentation augmentation;
};

template <typename T, int kWidth>
std::vector<T> OnDevice(const ImageSet& set, const std::vector<Draw>& draws) {
  std::vector<DrawnImage> drawn;
  for (const auto& [image, augmentation] : draws) {
    drawn.push_back({.image = image,
                     .shift_y = augmentation.shift_y,
                     .shift_x = augmentation.shift_x,
                     .mirror = augmentation.mirror});
  }
  const Normalizer normalizer(set);
  const auto batch = static_cast<int64_t>(draws.size());
  std::vector<T> images(batch * set.shape.size() + 1, FromFloat<T>(77));
  const ImageNormalization<T, kWidth> operation(set.shape, batch, set.pixels.data(), drawn.data(),
                                                normalizer.values().data(), images.data());
  testing::RunItems(operation, operation.items());
  EXPECT_EQ(ToFloat(images.back()), 77) << "behind the batch nothing is written";
  images.pop_back();
  return images;
}

void ExpectTheCpusFloats(const ImageSet& set, const std::vector<Draw>& draws) {
  const Normalizer normalizer(set);
  std::vector<float> expected(draws.size() * set.shape.size());
  for (size_t n = 0; n < draws.size(); ++n) {
    normalizer.Write(set.image(draws[n].image), draws[n].augmentation,
                     std::span(expected).subspan(n * set.shape.size(), set.shape.size()));
  }
  EXPECT_EQ((OnDevice<float, 4>(set, draws)), expected);
  EXPECT_EQ((OnDevice<float, 1>(set, draws)), expected);
  const auto as_brain = testing::Widened(testing::Rounded<BFloat16>(expected));
  EXPECT_EQ(testing::Widened(OnDevice<BFloat16, 8>(set, draws)), as_brain);
  EXPECT_EQ(testing::Widened(OnDevice<BFloat16, 1>(set, draws)), as_brain);
  EXPECT_EQ(testing::Widened(OnDevice<Float16, 8>(set, draws)),
            testing::Widened(testing::Rounded<Float16>(expected)));
}

// `count` images of random bytes.
ImageSet Noise(const ImageShape& shape, int count) {
  ImageSet set;
  set.shape = shape;
  for (const double value : testing::Deterministic("pixels", shape.size() * count)) {
    set.pixels.push_back(static_cast<uint8_t>((value + 1) * 128));
  }
  set.labels.resize(count);
  set.mean = {0.4914f, 0.4822f, 0.4465f};  // CIFAR-10's
  set.std = {0.2470f, 0.2435f, 0.2616f};
  return set;
}

// Every shift of an image, mirrored and not.
std::vector<Draw> AllDraws(int images) {
  std::vector<Draw> draws;
  for (int y = -kCropPadding; y <= kCropPadding; ++y) {
    for (int x = -kCropPadding; x <= kCropPadding; ++x) {
      for (const bool mirror : {false, true}) {
        draws.push_back(
            {static_cast<int32_t>(draws.size()) % images, {.shift_y = y, .shift_x = x, .mirror = mirror}});
      }
    }
  }
  return draws;
}

TEST(ImageNormalizationTest, ByHand) {
  // One row of three grey pixels; the value of pixel p is p - 51.
  ImageSet set;
  set.shape = {.height = 1, .width = 3, .channels = 1};
  set.pixels = {200, 200, 200, 51, 52, 53};
  set.labels = {0, 0};
  set.mean = {51.0f / 255, 0, 0};
  set.std = {1.0f / 255, 1, 1};
  const std::vector<float> images = OnDevice<float, 4>(
      set, {{1, {}}, {1, {.shift_x = 1}}, {1, {.mirror = true}}, {1, {.shift_x = 1, .mirror = true}}});
  std::vector<int> rounded;
  for (const float value : images) rounded.push_back(static_cast<int>(std::round(value)));
  EXPECT_THAT(rounded, ElementsAre(0, 1, 2, 1, 2, -51, 2, 1, 0, -51, 2, 1));
}

TEST(ImageNormalizationTest, GivesTheCpusFloatsOnShapes) {
  const ImageData data = MakeShapes(/*seed=*/1, /*train=*/20, /*test=*/1);
  ExpectTheCpusFloats(data.train, AllDraws(20));
}

TEST(ImageNormalizationTest, GivesTheCpusFloatsOnImagesLikeCifars) {
  ExpectTheCpusFloats(Noise({.height = 32, .width = 32, .channels = 3}, 50), AllDraws(50));
}

TEST(ImageNormalizationTest, GivesTheCpusFloatsWhereNothingIsAMultipleOfAnything) {
  for (const ImageShape shape :
       {ImageShape{7, 5, 3}, ImageShape{5, 9, 1}, ImageShape{3, 3, 2}, ImageShape{1, 1, 3}}) {
    for (const size_t batch : {1, 2, 3, 162}) {
      std::vector<Draw> draws = AllDraws(3);
      draws.resize(batch);
      ExpectTheCpusFloats(Noise(shape, 3), draws);
    }
  }
}

TEST(ImageNormalizationTest, DrawsOfThousandsOfImagesReachTheLastOne) {
  std::vector<Draw> draws;
  for (int32_t n = 0; n < 3000; ++n)
    draws.push_back({2999 - n, {.shift_y = n % 3 - 1, .mirror = n % 2 == 1}});
  ExpectTheCpusFloats(Noise({.height = 3, .width = 3, .channels = 3}, 3000), draws);
}

}  // namespace
}  // namespace ssd
