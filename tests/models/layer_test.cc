// Every layer's gradients by central differences of L = sum of r * output, with r fixed.
#include "models/layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "models/basic_block.h"
#include "models/cpu/device.h"
#include "models/layers.h"
#include "tests/testing/deterministic.h"

namespace ssd {
namespace {

using ::ssd::testing::Deterministic;

std::vector<float> Values(const std::string& name, int64_t count) {
  const std::vector<double> numbers = Deterministic(name, count);
  return {numbers.begin(), numbers.end()};
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
    x_ = Values("x", GetParam().input.size());
    parameters_ = Values("parameters", layout_.parameters.size());
    // Far from 0, so that a step of the difference crosses few corners of a ReLU.
    for (float& value : parameters_) value += value < 0 ? -0.5f : 0.5f;
    r_ = Values("r", layer_->output_shape().size());
  }

  const float* Forward() {
    std::vector<float> statistics(layout_.buffers.size(), 1.0f);
    return layer_->Forward(x_.data(),
                           {.parameters = parameters_.data(), .running_statistics = statistics.data()});
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
  std::vector<float> gradient(parameters_.size(), 1e30f);
  std::vector<float> dx(x_.size(), 1e30f);
  const int64_t largest = std::max(GetParam().input.size(), layer_->output_shape().size());
  std::vector<float> scratch(largest);
  std::vector<float> dy = r_;
  std::vector<int64_t> announced;
  Forward();
  layer_->Backward(x_.data(), dy.data(), dx.data(),
                   {.parameters = parameters_.data(),
                    .gradient = gradient.data(),
                    .scratch = scratch.data(),
                    .ready = [&announced](int64_t first) { announced.push_back(first); }});
  ExpectGradient(x_, dx, x_.size() / 40 + 1);
  if (parameters_.empty()) return;
  ExpectGradient(parameters_, gradient, parameters_.size() / 60 + 1);
  EXPECT_EQ(announced.back(), 0);
}

TEST_P(LayerTest, ParametersGetTheSameGradientWithoutInputGradient) {
  const auto backward = [this](float* dx) {
    std::vector<float> gradient(parameters_.size());
    std::vector<float> scratch(std::max(GetParam().input.size(), layer_->output_shape().size()));
    std::vector<float> dy = r_;
    Forward();
    layer_->Backward(x_.data(), dy.data(), dx,
                     {.parameters = parameters_.data(),
                      .gradient = gradient.data(),
                      .scratch = scratch.data(),
                      .ready = [](int64_t) {}});
    return gradient;
  };
  std::vector<float> dx(std::max(GetParam().input.size(), layer_->output_shape().size()));
  EXPECT_EQ(backward(nullptr), backward(dx.data()));
}

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
        LayerRow{"BasicBlock",
                 {2, 4, 4, 4},
                 [](const ActivationShape& input, ModelLayout& layout) {
                   return std::make_unique<BasicBlock>("b", input, /*outputs=*/4, /*stride=*/1, layout);
                 }},
        LayerRow{"BasicBlockThatHalves",
                 {2, 6, 6, 3},
                 [](const ActivationShape& input, ModelLayout& layout) {
                   return std::make_unique<BasicBlock>("b", input, /*outputs=*/6, /*stride=*/2, layout);
                 }}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace ssd
