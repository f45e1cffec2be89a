// Every operation but pooling of every device against plain loops in double.
#include "tests/models/device_conformance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "tests/models/reference.h"

namespace ssd {
namespace {

TEST_P(DeviceConformanceTest, ConvolutionMatchesPlainLoopsInAllDirections) {
  const ConvolutionShape shapes[] = {
      {.input = {2, 8, 8, 16}, .outputs = 16, .kernel = 3, .stride = 1, .padding = 1},
      {.input = {3, 9, 7, 3}, .outputs = 16, .kernel = 3, .stride = 1, .padding = 1},
      {.input = {2, 8, 8, 16}, .outputs = 32, .kernel = 3, .stride = 2, .padding = 1},
      {.input = {1, 7, 11, 5}, .outputs = 13, .kernel = 3, .stride = 2, .padding = 1},
      {.input = {2, 15, 13, 3}, .outputs = 10, .kernel = 7, .stride = 2, .padding = 3},
      {.input = {2, 6, 5, 17}, .outputs = 9, .kernel = 1, .stride = 1, .padding = 0},
      {.input = {2, 7, 9, 16}, .outputs = 24, .kernel = 1, .stride = 2, .padding = 0},
      {.input = {2, 4, 4, 64}, .outputs = 256, .kernel = 1, .stride = 1, .padding = 0},
      {.input = {1, 11, 10, 4}, .outputs = 6, .kernel = 5, .stride = 3, .padding = 2},
      {.input = {2, 1, 1, 8}, .outputs = 8, .kernel = 3, .stride = 2, .padding = 1},
      {.input = {1, 5, 5, 1}, .outputs = 1, .kernel = 3, .stride = 1, .padding = 0},
  };
  for (const ConvolutionShape& shape : shapes) {
    SCOPED_TRACE(::testing::Message()
                 << shape.input.height << "x" << shape.input.width << "x" << shape.input.channels << " to "
                 << shape.outputs << " kernel " << shape.kernel << " stride " << shape.stride << " padding "
                 << shape.padding);
    const auto x = Values("x", shape.input.size());
    const auto weights = Values("weights", shape.weights_size());
    const auto dy = Values("dy", shape.output().size());
    const auto convolution = device_->MakeConvolution(shape, /*input_gradient=*/true);
    float* y = Garbage(shape.output().size());
    float* dx = Garbage(shape.input.size());
    float* dweights = Garbage(shape.weights_size());

    convolution->Forward(Put(x), Put(weights), y);
    convolution->BackwardWeights(Put(x), Put(dy), dweights);
    convolution->BackwardData(Put(weights), Put(dy), dx);

    const reference::ConvolutionResult expected = reference::Convolve(shape, x, weights, dy);
    ExpectNear(y, expected.y);
    ExpectNear(dweights, expected.dweights);
    ExpectNear(dx, expected.dx);
  }
}

TEST_P(DeviceConformanceTest, ConvolutionFollowsWeightsThatChangeInPlace) {
  const ConvolutionShape shape{.input = {1, 4, 4, 16}, .outputs = 16, .kernel = 3, .stride = 1, .padding = 1};
  const auto x = Values("x", shape.input.size());
  const auto dy = Values("dy", shape.output().size());
  const auto convolution = device_->MakeConvolution(shape, /*input_gradient=*/true);
  float* weights = Garbage(shape.weights_size());
  float* y = Garbage(shape.output().size());
  float* dx = Garbage(shape.input.size());
  for (const char* version : {"weights/0", "weights/1"}) {
    const auto values = Values(version, shape.weights_size());
    device_->memory().Upload(values, weights);
    convolution->Forward(Put(x), weights, y);
    convolution->BackwardData(weights, Put(dy), dx);
    const reference::ConvolutionResult expected = reference::Convolve(shape, x, values, dy);
    ExpectNear(y, expected.y);
    ExpectNear(dx, expected.dx);
  }
}

reference::BatchNormInput BatchNormValues(const ActivationShape& shape) {
  reference::BatchNormInput input{.x = Values("x", shape.size()),
                                  .scale = Values("scale", shape.channels),
                                  .shift = Values("shift", shape.channels),
                                  .dy = Values("dy", shape.size()),
                                  .running_mean = Values("mean", shape.channels),
                                  .running_variance = Values("variance", shape.channels)};
  for (float& value : input.x) value += 3;  // a mean that is not small beside the deviation
  for (float& value : input.running_variance) value += 1.5f;
  return input;
}

TEST_P(DeviceConformanceTest, BatchNormMatchesPlainLoopsWithAndWithoutRelu) {
  for (const bool relu : {false, true}) {
    for (const ActivationShape shape :
         {ActivationShape{4, 8, 8, 16}, ActivationShape{3, 5, 7, 13}, ActivationShape{2, 1, 3, 1}}) {
      SCOPED_TRACE(::testing::Message() << "relu " << relu << " channels " << shape.channels);
      const BatchNormOptions options{.shape = shape};
      const reference::BatchNormInput input = BatchNormValues(shape);
      const reference::BatchNormResult expected = reference::BatchNorm(options, relu, input);

      const auto batch_norm = device_->MakeBatchNorm(options, relu);
      const float* x = Put(input.x);
      const float* scale = Put(input.scale);
      const float* shift = Put(input.shift);
      float* y = Garbage(shape.size());
      float* inference = Garbage(shape.size());
      float* mean = Put(input.running_mean);
      float* variance = Put(input.running_variance);
      float* dx = Put(input.dy);  // in place
      float* dscale = Garbage(shape.channels);
      float* dshift = Garbage(shape.channels);
      batch_norm->TrainingForward(x, scale, shift, y, mean, variance);
      batch_norm->InferenceForward(x, scale, shift, Put(input.running_mean), Put(input.running_variance),
                                   inference);
      batch_norm->Backward(x, scale, shift, dx, dx, dscale, dshift);

      ExpectNear(y, expected.y);
      ExpectNear(mean, expected.running_mean);
      ExpectNear(variance, expected.running_variance);
      ExpectNear(inference, expected.inference);
      ExpectNear(dx, expected.dx, 1e-4);
      ExpectNear(dscale, expected.dscale, 1e-4);
      ExpectNear(dshift, expected.dshift);
    }
  }
}

TEST_P(DeviceConformanceTest, BatchNormOverOneValueLeavesRunningStatisticsFinite) {
  const auto batch_norm = device_->MakeBatchNorm({.shape = {1, 1, 1, 2}}, /*relu=*/false);
  float* mean = Put({0, 1});
  float* variance = Put({1, 2});
  batch_norm->TrainingForward(Put({5, -3}), Put({1, 1}), Put({0, 0}), Garbage(2), mean, variance);
  ExpectNear(mean, {0.5, 0.6});
  ExpectNear(variance, {0.9, 1.8});
}

TEST_P(DeviceConformanceTest, AccumulationAddsValueByValue) {
  const auto accumulation = device_->MakeAccumulation(5);
  float* sum = Put({1, 2, 3, 4, 5, /**/ 6});
  accumulation->Add(Put({10, 20, 30, 40, 50, /**/ 60}), sum);
  ExpectNear(sum, {11, 22, 33, 44, 55, /**/ 6});
}

TEST_P(DeviceConformanceTest, LinearMatchesPlainLoops) {
  struct Size {
    int64_t batch, inputs, outputs;
  };
  for (const auto [batch, inputs, outputs] : {Size{8, 64, 10}, Size{3, 7, 5}, Size{1, 1, 1}}) {
    const auto x = Values("x", batch * inputs);
    const auto w = Values("w", outputs * inputs);
    const auto b = Values("b", outputs);
    const auto dy = Values("dy", batch * outputs);
    const auto linear = device_->MakeLinear(batch, inputs, outputs);
    float* y = Garbage(batch * outputs);
    float* dx = Garbage(batch * inputs);
    float* dw = Garbage(outputs * inputs);
    float* db = Garbage(outputs);
    linear->Forward(Put(x), Put(w), Put(b), y);
    linear->BackwardWeights(Put(x), Put(dy), dw, db);
    linear->BackwardData(Put(w), Put(dy), dx);

    std::vector<double> expected_y(dy.size()), expected_dx(x.size()), expected_dw(w.size()),
        expected_db(b.size());
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t o = 0; o < outputs; ++o) {
        const double gradient = dy[n * outputs + o];
        expected_y[n * outputs + o] = b[o];
        expected_db[o] += gradient;
        for (int64_t i = 0; i < inputs; ++i) {
          expected_y[n * outputs + o] += static_cast<double>(x[n * inputs + i]) * w[o * inputs + i];
          expected_dw[o * inputs + i] += gradient * x[n * inputs + i];
          expected_dx[n * inputs + i] += gradient * w[o * inputs + i];
        }
      }
    }
    ExpectNear(y, expected_y);
    ExpectNear(dx, expected_dx);
    ExpectNear(dw, expected_dw);
    ExpectNear(db, expected_db);
  }
}

TEST_P(DeviceConformanceTest, ResidualNormMatchesPlainLoopsForEachShortcut) {
  struct Shapes {
    ActivationShape shortcut, shape;
  };
  const Shapes rows[] = {{{2, 8, 8, 16}, {2, 8, 8, 16}}, {{2, 3, 5, 7}, {2, 3, 5, 7}},
                         {{2, 8, 8, 16}, {2, 4, 4, 32}}, {{3, 7, 5, 3}, {3, 4, 3, 8}},  // 2 before, 3 after
                         {{1, 4, 4, 4}, {1, 4, 4, 6}},   {{5, 1, 1, 2}, {5, 1, 1, 4}}};
  for (const auto& [shortcut, shape] : rows) {
    SCOPED_TRACE(::testing::Message()
                 << shortcut.height << " " << shortcut.channels << " " << shape.channels);
    const BatchNormOptions options{.shape = shape};
    reference::BatchNormInput input = BatchNormValues(shape);
    const auto s = Values("s", shortcut.size());
    const auto ds = Values("ds", shortcut.size());
    const auto residual = device_->MakeResidualNorm(options, shortcut);
    const float* x = Put(input.x);
    const float* scale = Put(input.scale);
    const float* shift = Put(input.shift);
    float* y = Garbage(shape.size());
    float* inference = Garbage(shape.size());
    float* mean = Put(input.running_mean);
    float* variance = Put(input.running_variance);
    float* dy = Put(input.dy);
    float* dx = Garbage(shape.size());
    float* dscale = Garbage(shape.channels);
    float* dshift = Garbage(shape.channels);
    float* sum = Put(ds);
    residual->TrainingForward(x, Put(s), scale, shift, y, mean, variance);
    residual->InferenceForward(x, Put(s), scale, shift, Put(input.running_mean), Put(input.running_variance),
                               inference);
    residual->Backward(x, scale, shift, y, dy, dx, dscale, dshift);
    residual->AddShortcutGradient(dy, sum);

    // First the outputs, which say what the ReLU lets pass; then the gradients with that.
    std::vector<double> expected_y = reference::BatchNorm(options, /*relu=*/false, input).y;
    std::vector<double> expected_inference = reference::BatchNorm(options, /*relu=*/false, input).inference;
    const std::vector<double> added = reference::Shortcut(shortcut, shape, s);
    for (size_t i = 0; i < added.size(); ++i) {
      expected_y[i] = std::max(expected_y[i] + added[i], 0.0);
      expected_inference[i] = std::max(expected_inference[i] + added[i], 0.0);
      if (expected_y[i] == 0) input.dy[i] = 0;
    }
    const reference::BatchNormResult expected = reference::BatchNorm(options, /*relu=*/false, input);
    std::vector<double> expected_sum = reference::ShortcutGradient(shortcut, shape, input.dy);
    for (size_t i = 0; i < ds.size(); ++i) expected_sum[i] += ds[i];
    ExpectNear(y, expected_y);
    ExpectNear(inference, expected_inference);
    ExpectNear(mean, expected.running_mean);
    ExpectNear(variance, expected.running_variance);
    ExpectNear(dy, {input.dy.begin(), input.dy.end()}, 0);
    ExpectNear(dx, expected.dx, 1e-4);
    ExpectNear(dscale, expected.dscale, 1e-4);
    ExpectNear(dshift, expected.dshift);
    ExpectNear(sum, expected_sum);
  }
}

TEST_P(DeviceConformanceTest, CrossEntropyCountsValidSamplesOnly) {
  const auto loss = device_->MakeSoftmaxCrossEntropy(/*batch=*/3, /*classes=*/2);
  const float log3 = std::log(3.0f);
  const float* logits = Put({log3, 0, /**/ 0, 0, /**/ 100, 0});
  const std::vector<int32_t> first = {0, 1, -1};
  loss->Forward(logits, PutLabels(first), /*valid=*/2);
  const BatchResult two = loss->Result();
  EXPECT_NEAR(two.loss, std::log(4.0 / 3) + std::log(2.0), 1e-6);
  EXPECT_EQ(two.correct, 1);  // of equal logits the first counts as the largest
  EXPECT_EQ(two.samples, 2);
  const std::vector<int32_t> second = {0, 0, 1};
  loss->Forward(logits, PutLabels(second), /*valid=*/3);
  const BatchResult three = loss->Result();
  EXPECT_NEAR(three.loss, std::log(4.0 / 3) + std::log(2.0) + 100, 1e-5);  // no overflow
  EXPECT_EQ(three.correct, 2);
}

TEST_P(DeviceConformanceTest, CrossEntropyGradientIsProbabilityMinusOneHotOverBatch) {
  const auto loss = device_->MakeSoftmaxCrossEntropy(/*batch=*/2, /*classes=*/2);
  float* dlogits = Garbage(4);
  const std::vector<int32_t> labels = {0, 1};
  loss->Backward(Put({std::log(3.0f), 0, /**/ 1000, 1000}), PutLabels(labels), dlogits);
  ExpectNear(dlogits, {-0.125, 0.125, /**/ 0.25, -0.25});
}

TEST_P(DeviceConformanceTest, CrossEntropyOfNanIsNanAndNotCorrect) {
  const auto loss = device_->MakeSoftmaxCrossEntropy(/*batch=*/2, /*classes=*/2);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<int32_t> labels = {0, 0};
  loss->Forward(Put({nan, 0, /**/ 0, nan}), PutLabels(labels), /*valid=*/2);
  const BatchResult result = loss->Result();
  EXPECT_TRUE(std::isnan(result.loss));
  EXPECT_EQ(result.correct, 0);
}

TEST_P(DeviceConformanceTest, OperationsMayRunOnAnotherThreadThanMadeThem) {
  const ConvolutionShape shape{.input = {4, 8, 8, 16}, .outputs = 16, .kernel = 3, .stride = 1, .padding = 1};
  const auto x = Values("x", shape.input.size());
  const auto dy = Values("dy", shape.output().size());
  const auto weights = Values("weights", shape.weights_size());
  const auto convolution = device_->MakeConvolution(shape, /*input_gradient=*/true);
  float* dweights = Garbage(shape.weights_size());
  std::thread([&] {
    device_->Enter();
    convolution->BackwardWeights(Put(x), Put(dy), dweights);
  }).join();
  ExpectNear(dweights, reference::Convolve(shape, x, weights, dy).dweights);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceConformanceTest, AllDevices(), NameOfRow);

}  // namespace
}  // namespace ssd
