// Every layer's gradients by central differences of L = sum of r * output, with r fixed.
#include "models/layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "models/cpu/device.h"
#include "models/layers.h"
#include "models/residual_block.h"
#include "tests/testing/deterministic.h"

namespace ssd {
namespace {

using ::ssd::testing::Deterministic;

std::vector<float> Values(const std::string& name, int64_t count) {
  const std::vector<double> numbers = Deterministic(name, count);
  return {numbers.begin(), numbers.end()};
}

// Evenly spaced values in [-1, 1), ordered at random: no step of a difference lets one pass another, which
// would be a corner of a maximum.
std::vector<float> SpacedValues(const std::string& name, int64_t count) {
  const std::vector<float> random = Values(name, count);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&random](size_t a, size_t b) { return random[a] < random[b]; });
  std::vector<float> values(count);
  for (int64_t rank = 0; rank < count; ++rank) {
    values[order[rank]] = 2 * static_cast<float>(rank) / static_cast<float>(count) - 1;
  }
  return values;
}

struct LayerRow {
  std::string name;
  ActivationShape input;
  std::function<std::unique_ptr<Layer>(const ActivationShape& input, ModelLayout& layout)> make;

  friend void PrintTo(const LayerRow& row, std::ostream* out) { *out << row.name; }
};

class LayerTest : public ::testing::TestWithParam<LayerRow> {
 protected:
  LayerTest() : device_(MakeCpuDevice(/*threads=*/1)), layer_(GetParam().make(GetParam().input, layout_)) {
    layer_->Build(*device_, /*input_gradient=*/true);
    x_ = SpacedValues("x", GetParam().input.size());
    parameters_ = Values("parameters", layout_.parameters.size());
    // Far from 0, so that a step of the difference crosses few corners of a ReLU.
    for (float& value : parameters_) value += value < 0 ? -0.5f : 0.5f;
    r_ = Values("r", layer_->output_shape().size());
  }

  // As large as Backward's arrays have to be.
  int64_t Largest() const { return std::max(GetParam().input.size(), layer_->output_shape().size()); }

  // The parameters' gradient after a forward and a backward pass; what is ready goes to `announced`.
  std::vector<float> Backward(float* dx, std::vector<int64_t>* announced) {
    std::vector<float> gradient(parameters_.size(), 1e30f);
    std::vector<float> scratch(Largest());
    std::vector<float> dy = r_;
    dy.resize(Largest());
    Forward();
    layer_->Backward(x_.data(), dy.data(), dx,
                     {.parameters = parameters_.data(),
                      .gradient = gradient.data(),
                      .scratch = scratch.data(),
                      .ready = [announced](int64_t first) { announced->push_back(first); }});
    return gradient;
  }

  const float* Forward() {
    std::vector<float> statistics(layout_.buffers.size(), 1.0f);
    return static_cast<const float*>(layer_->Forward(
        x_.data(), {.parameters = parameters_.data(), .running_statistics = statistics.data()}));
  }

  // Which outputs are 0: where that differs between the two ends, a ReLU has a corner between them.
  struct Evaluation {
    double loss = 0;
    std::vector<bool> zero;
  };
  Evaluation Evaluate() {
    const float* y = Forward();
    Evaluation result{.zero = std::vector<bool>(r_.size())};
    for (size_t i = 0; i < r_.size(); ++i) {
      result.loss += static_cast<double>(r_[i]) * y[i];
      result.zero[i] = y[i] == 0;
    }
    return result;
  }

  // Compares dL/dvalues by central differences with `gradient`, at every `stride`-th value.
  void ExpectGradient(std::vector<float>& values, const std::vector<float>& gradient, size_t stride) {
    double squares = 0;
    for (const float value : gradient) squares += static_cast<double>(value) * value;
    const double rms = std::sqrt(squares / static_cast<double>(gradient.size()));
    int compared = 0;
    int tried = 0;
    for (size_t i = 0; i < values.size(); i += stride) {
      const float value = values[i];
      const float above = value + 2e-3f;
      const float below = value - 2e-3f;
      values[i] = above;
      const Evaluation high = Evaluate();
      values[i] = below;
      const Evaluation low = Evaluate();
      values[i] = value;
      ++tried;
      if (high.zero != low.zero) continue;
      ++compared;
      EXPECT_NEAR((high.loss - low.loss) / (static_cast<double>(above) - below), gradient[i],
                  0.02 * rms + 2e-3)
          << "value " << i;
    }
    EXPECT_GT(2 * compared, tried);
  }

  std::unique_ptr<Device> device_;
  ModelLayout layout_;
  std::unique_ptr<Layer> layer_;
  std::vector<float> x_, parameters_, r_;
};

TEST_P(LayerTest, GradientsAreThoseOfCentralDifferences) {
  std::vector<float> dx(Largest(), 1e30f);
  std::vector<int64_t> announced;
  const std::vector<float> gradient = Backward(dx.data(), &announced);
  dx.resize(x_.size());
  ExpectGradient(x_, dx, x_.size() / 40 + 1);
  if (parameters_.empty()) return;
  ExpectGradient(parameters_, gradient, parameters_.size() / 60 + 1);
  EXPECT_EQ(announced.back(), 0);
  EXPECT_TRUE(std::is_sorted(announced.rbegin(), announced.rend(), std::less_equal<>())) << "not falling";
}

TEST_P(LayerTest, ParametersGetTheSameGradientWithoutInputGradient) {
  std::vector<float> dx(Largest());
  std::vector<int64_t> without, with;
  EXPECT_EQ(Backward(nullptr, &without), Backward(dx.data(), &with));
  EXPECT_EQ(without, with);
}

TEST_P(LayerTest, KeepsItsOutputAtLeast) {
  EXPECT_GE(layer_->activation_floats(), layer_->output_shape().size());
}

// A block of `inner` channels.
LayerRow BlockRow(const std::string& name, const ActivationShape& shape, decltype(&MakeBasicBlock) make,
                  int64_t inner, int64_t stride, ResNetSpec::Shortcut shortcut) {
  return {name, shape, [=](const ActivationShape& input, ModelLayout& layout) {
            return make("b", input, inner, stride, shortcut, layout);
          }};
}

constexpr auto kPadded = ResNetSpec::Shortcut::kPadded;
constexpr auto kProjected = ResNetSpec::Shortcut::kProjected;

INSTANTIATE_TEST_SUITE_P(
    Layers, LayerTest,
    ::testing::Values(
        LayerRow{"Convolution",
                 {2, 5, 4, 3},
                 [](const ActivationShape& input, ModelLayout& layout) {
                   return std::make_unique<ConvolutionLayer>(
                       "c",
                       ConvolutionShape{.input = input, .outputs = 5, .kernel = 3, .stride = 2, .padding = 1},
                       layout);
                 }},
        LayerRow{"BatchNorm",
                 {3, 3, 2, 4},
                 [](const ActivationShape& input, ModelLayout& layout) {
                   return std::make_unique<BatchNormLayer>("b", input, /*relu=*/false, layout);
                 }},
        LayerRow{"BatchNormWithRelu",
                 {3, 3, 2, 4},
                 [](const ActivationShape& input, ModelLayout& layout) {
                   return std::make_unique<BatchNormLayer>("b", input, /*relu=*/true, layout);
                 }},
        LayerRow{"GlobalAveragePool",
                 {2, 4, 3, 5},
                 [](const ActivationShape& input, ModelLayout&) {
                   return std::make_unique<GlobalAveragePoolLayer>(input);
                 }},
        LayerRow{"Linear",
                 {3, 1, 2, 4},
                 [](const ActivationShape& input, ModelLayout& layout) {
                   return std::make_unique<LinearLayer>("l", input, /*outputs=*/5, layout);
                 }},
        LayerRow{"MaxPool",
                 {2, 7, 6, 3},
                 [](const ActivationShape& input, ModelLayout&) {
                   return std::make_unique<MaxPoolLayer>(
                       PoolShape{.input = input, .kernel = 3, .stride = 2, .padding = 1});
                 }},
        BlockRow("BasicBlock", {2, 4, 4, 4}, MakeBasicBlock, 4, 1, kProjected),
        BlockRow("BasicBlockThatHalves", {2, 6, 6, 3}, MakeBasicBlock, 6, 2, kPadded),
        BlockRow("BasicBlockThatHalvesAndProjects", {2, 6, 5, 3}, MakeBasicBlock, 6, 2, kProjected),
        BlockRow("Bottleneck", {2, 4, 4, 8}, MakeBottleneckBlock, 2, 1, kProjected),
        BlockRow("BottleneckThatWidens", {2, 4, 3, 3}, MakeBottleneckBlock, 2, 1, kProjected),
        BlockRow("BottleneckThatHalves", {2, 6, 6, 4}, MakeBottleneckBlock, 2, 2, kPadded),
        BlockRow("BottleneckThatHalvesAndProjects", {2, 5, 6, 4}, MakeBottleneckBlock, 2, 2, kProjected)),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace ssd
