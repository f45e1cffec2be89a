// Pooling of every device against plain loops in double.
#include <vector>

#include "tests/models/device_conformance.h"
#include "tests/models/reference.h"

namespace ssd {
namespace {

class PoolingConformanceTest : public DeviceConformanceTest {};

TEST_P(PoolingConformanceTest, MaxPoolMatchesPlainLoops) {
  const PoolShape shapes[] = {
      {.input = {2, 16, 16, 16}, .kernel = 3, .stride = 2, .padding = 1},  // residual networks'
      {.input = {3, 9, 7, 13}, .kernel = 3, .stride = 2, .padding = 1},
      {.input = {1, 8, 11, 5}, .kernel = 3, .stride = 2, .padding = 0},
      {.input = {2, 6, 6, 8}, .kernel = 2, .stride = 2, .padding = 0},
      {.input = {1, 7, 10, 3}, .kernel = 5, .stride = 3, .padding = 2},
      {.input = {2, 5, 4, 17}, .kernel = 3, .stride = 1, .padding = 1},
      {.input = {1, 13, 12, 4}, .kernel = 2, .stride = 3, .padding = 1},  // pixels that are in no window
      {.input = {2, 1, 1, 2}, .kernel = 3, .stride = 2, .padding = 1},
  };
  for (const PoolShape& shape : shapes) {
    SCOPED_TRACE(::testing::Message()
                 << shape.input.height << "x" << shape.input.width << "x" << shape.input.channels
                 << " kernel " << shape.kernel << " stride " << shape.stride << " padding " << shape.padding);
    const auto pool = device_->MakeMaxPool(shape);
    const auto dy = Values("dy", shape.output().size());
    for (const char* name : {"x/0", "x/1"}) {  // what is remembered is the last pass's
      std::vector<float> x = Values(name, shape.input.size());
      for (float& value : x) value -= 1;  // the padding's zeros would win everywhere
      float* y = Garbage(shape.output().size());
      float* dx = Garbage(shape.input.size());
      pool->Forward(Put(x), y);
      pool->Backward(Put(dy), dx);
      const reference::MaxPoolResult expected = reference::MaxPool(shape, x, dy);
      ExpectNear(y, expected.y);
      ExpectNear(dx, expected.dx);
    }
  }
}

TEST_P(PoolingConformanceTest, MaxPoolGivesTheGradientOfEqualValuesToTheFirst) {
  const PoolShape shape{.input = {2, 6, 6, 16}, .kernel = 3, .stride = 2, .padding = 1};
  const std::vector<float> x(shape.input.size(), 2.5f);
  const auto dy = Values("dy", shape.output().size());
  const auto pool = device_->MakeMaxPool(shape);
  float* dx = Garbage(shape.input.size());
  pool->Forward(Put(x), Garbage(shape.output().size()));
  pool->Backward(Put(dy), dx);
  ExpectNear(dx, reference::MaxPool(shape, x, dy).dx);
}

TEST_P(PoolingConformanceTest, GlobalAveragePoolIsTheMeanAndItsGradientIsSpread) {
  for (const ActivationShape shape :
       {ActivationShape{2, 8, 8, 64}, ActivationShape{3, 5, 3, 7}, ActivationShape{2, 1, 1, 4}}) {
    const auto x = Values("x", shape.size());
    const auto dy = Values("dy", shape.batch * shape.channels);
    const auto pool = device_->MakeGlobalAveragePool(shape);
    float* y = Garbage(shape.batch * shape.channels);
    float* dx = Garbage(shape.size());
    pool->Forward(Put(x), y);
    pool->Backward(Put(dy), dx);

    const int64_t area = shape.height * shape.width;
    std::vector<double> expected_y(dy.size());
    std::vector<double> expected_dx(x.size());
    for (int64_t i = 0; i < shape.size(); ++i) {
      const int64_t pooled = i / (area * shape.channels) * shape.channels + i % shape.channels;
      expected_y[pooled] += static_cast<double>(x[i]) / static_cast<double>(area);
      expected_dx[i] = static_cast<double>(dy[pooled]) / static_cast<double>(area);
    }
    ExpectNear(y, expected_y);
    ExpectNear(dx, expected_dx);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, PoolingConformanceTest, AllDevices(), NameOfRow);

}  // namespace
}  // namespace ssd
