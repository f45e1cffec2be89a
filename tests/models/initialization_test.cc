#include "models/initialization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "models/registry.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::testing::ElementsAre;

struct Vectors {
  std::vector<float> parameters;
  std::vector<float> buffers;
};

Vectors Initialize(const ModelLayout& layout, uint64_t seed) {
  Vectors vectors;
  vectors.parameters.resize(layout.parameters.size());
  vectors.buffers.resize(layout.buffers.size());
  InitializeParameters(layout, seed, vectors.parameters, vectors.buffers);
  return vectors;
}

std::vector<float> One(const Vectors& vectors, const TensorSpec& tensor) {
  const auto first = vectors.parameters.begin() + tensor.offset;
  return {first, first + tensor.size};
}

double Moment(const std::vector<float>& values, int power) {
  double sum = 0;
  for (const float value : values) sum += std::pow(value, power);
  return sum / static_cast<double>(values.size());
}

TEST(InitializationTest, ConvolutionsAreNormalWithVarianceByFanOut) {
  ModelLayout layout;
  layout.parameters.Add("conv.weight", {64, 32, 3, 3});
  const std::vector<float> values = One(Initialize(layout, 7), layout.parameters.tensors()[0]);
  const double variance = 2.0 / (64 * 9);
  // Five standard errors of 18432 samples.
  EXPECT_NEAR(Moment(values, 1), 0, 5 * std::sqrt(variance / 18432));
  EXPECT_NEAR(Moment(values, 2), variance, 5 * variance * std::sqrt(2.0 / 18432));
  EXPECT_NEAR(Moment(values, 4), 3 * variance * variance, 5 * variance * variance * std::sqrt(96.0 / 18432));
  // Neighbours, which share nothing but the key, are uncorrelated.
  const double product = std::inner_product(values.begin() + 1, values.end(), values.begin(), 0.0) / 18431;
  EXPECT_NEAR(product, 0, 5 * variance / std::sqrt(18431.0));
}

TEST(InitializationTest, LinearWeightsAndBiasesAreUniformByFanIn) {
  ModelLayout layout;
  layout.parameters.Add("fc.weight", {100, 64});
  layout.parameters.Add("fc.bias", {100});
  const Vectors vectors = Initialize(layout, 7);
  for (const TensorSpec& tensor : layout.parameters.tensors()) {
    const std::vector<float> values = One(vectors, tensor);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    EXPECT_GE(*low, -0.125f);
    EXPECT_LE(*high, 0.125f);
    EXPECT_NEAR(*low, -0.125, 0.02);
    EXPECT_NEAR(*high, 0.125, 0.02);
    const double variance = 0.125 * 0.125 / 3;
    EXPECT_NEAR(Moment(values, 1), 0, 5 * std::sqrt(variance / static_cast<double>(values.size())));
  }
}

TEST(InitializationTest, BatchNormStartsAsTheIdentity) {
  ModelLayout layout;
  layout.parameters.Add("bn1.weight", {3});
  layout.parameters.Add("bn1.bias", {3});
  layout.buffers.Add("bn1.running_mean", {3});
  layout.buffers.Add("bn1.running_var", {3});
  const Vectors vectors = Initialize(layout, 7);
  EXPECT_THAT(vectors.parameters, ElementsAre(1, 1, 1, 0, 0, 0));
  EXPECT_THAT(vectors.buffers, ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(InitializationTest, DependsOnSeedAndNameButNotOnPlace) {
  ModelLayout layout;
  layout.parameters.Add("a.weight", {4, 4, 3, 3});
  layout.parameters.Add("b.weight", {4, 4, 3, 3});
  ModelLayout swapped;
  swapped.parameters.Add("b.weight", {4, 4, 3, 3});
  swapped.parameters.Add("a.weight", {4, 4, 3, 3});
  const auto a = One(Initialize(layout, 1), layout.parameters.tensors()[0]);
  EXPECT_EQ(One(Initialize(swapped, 1), swapped.parameters.tensors()[1]), a);
  EXPECT_NE(One(Initialize(layout, 1), layout.parameters.tensors()[1]), a);
  EXPECT_NE(One(Initialize(layout, 2), layout.parameters.tensors()[0]), a);
}

TEST(InitializationTest, ValuesAreThoseOfTheFormula) {
  // Computed by an independent program from the formula in the header.
  ModelLayout layout;
  layout.parameters.Add("conv1.weight", {1, 1, 1, 2});
  layout.parameters.Add("fc.weight", {2, 1});
  const Vectors vectors = Initialize(layout, 42);
  EXPECT_THAT(vectors.parameters,
              ::testing::Pointwise(::testing::FloatEq(), std::vector<float>{0.170520284f, 1.51654611f,
                                                                            -0.93434412f, -0.625260334f}));
}

}  // namespace
}  // namespace ssd
