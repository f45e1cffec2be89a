// Each kernel on a GPU beside its functor on the host: the same bits, but where exp and log enter. Skipped where there is
// no GPU.
#include "models/cuda/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "models/cuda/check.h"
#include "models/cuda/functors/global_average_pool.h"
#include "models/cuda/functors/image_normalization.h"
#include "models/cuda/functors/max_pool.h"
#include "models/cuda/functors/pointwise.h"
#include "models/cuda/functors/shortcut.h"
#include "models/cuda/functors/tree_sum.h"
#include "tests/models/host_launch.h"

namespace ssd {
namespace {

using testing::Floats;
using testing::Rounded;
using testing::RunElementwise;
using testing::RunItems;

class GpuKernelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
      GTEST_SKIP() << "no GPU: "
                   << (status != cudaSuccess ? cudaGetErrorString(status) : "the driver knows none");
    }
    SSD_CUDA_CHECK(cudaStreamCreate(&to_.stream));
    SSD_CUDA_CHECK(cudaDeviceGetAttribute(&to_.multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  }
  void TearDown() override {
    for (void* array : arrays_) SSD_CUDA_CHECK(cudaFree(array));
    if (to_.stream != nullptr) SSD_CUDA_CHECK(cudaStreamDestroy(to_.stream));
  }

  template <typename T>
  T* Put(const std::vector<T>& values) {
    void* array = nullptr;
    SSD_CUDA_CHECK(cudaMalloc(&array, values.size() * sizeof(T)));
    arrays_.push_back(array);
    SSD_CUDA_CHECK(cudaMemcpy(array, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return static_cast<T*>(array);
  }
  // After all kernels.
  template <typename T>
  void ExpectBits(const T* actual, const std::vector<T>& expected, const char* what) {
    SSD_CUDA_CHECK(cudaStreamSynchronize(to_.stream));
    std::vector<T> values(expected.size());
    SSD_CUDA_CHECK(cudaMemcpy(values.data(), actual, values.size() * sizeof(T), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(memcmp(&values[i], &expected[i], sizeof(T)), 0)
          << what << " at " << i << " of " << expected.size() << ": " << ToFloat(values[i]) << ", not "
          << ToFloat(expected[i]);
    }
  }

  KernelStream to_;

 private:
  std::vector<void*> arrays_;
};

// The arrays of a local update: read, read, updated or written.
struct Arrays {
  float *a, *b, *c, *d;
};

TEST_F(GpuKernelsTest, LocalUpdatesGiveTheHostsBits) {
  const LocalStep step{
      .rate = 0.3f, .alpha = 3, .beta = 0.7f, .mu = 0.9f, .lambda = 1e-4f, .dc_lambda = 0.04f};
  LocalStep nesterov = step;
  nesterov.nesterov = true;
  for (const int64_t n : {1, 3, 4, 1001, 3'000'001}) {
    for (const int64_t offset : {0, 1, 3}) {
      const auto size = static_cast<size_t>(n);
      const auto read = [&](const float* p) { return std::span(p, size); };
      const auto write = [&](float* p) { return std::span(p, size); };
      using Run = std::function<void(const Arrays&)>;
      const auto in = [](const float* p) { return ReadArray<float>{p}; };
      const auto out = [](float* p) { return UpdateArray<float>{p}; };
      const std::pair<Run, Run> pairs[] = {
          {[&](auto& t) { LaunchSgd(to_, step, read(t.a), write(t.c)); },
           [&](auto& t) { RunElementwise(SgdUpdate{step}, n, in(t.a), out(t.c)); }},
          {[&](auto& t) { LaunchGlu(to_, step, read(t.a), read(t.b), write(t.c)); },
           [&](auto& t) { RunElementwise(GluUpdate{step}, n, in(t.a), in(t.b), out(t.c)); }},
          {[&](auto& t) { LaunchMomentum(to_, step, read(t.a), write(t.c), write(t.d)); },
           [&](auto& t) { RunElementwise(MomentumUpdate<false>{step}, n, in(t.a), out(t.c), out(t.d)); }},
          {[&](auto& t) { LaunchMomentum(to_, nesterov, read(t.a), write(t.c), write(t.d)); },
           [&](auto& t) { RunElementwise(MomentumUpdate<true>{step}, n, in(t.a), out(t.c), out(t.d)); }},
          {[&](auto& t) { LaunchAccumulateVelocity(to_, step, read(t.a), read(t.b), write(t.c)); },
           [&](auto& t) { RunElementwise(AccumulateUpdate{step}, n, in(t.a), in(t.b), out(t.c)); }},
          {[&](auto& t) { LaunchGluMomentum(to_, step, read(t.a), write(t.c), write(t.d)); },
           [&](auto& t) { RunElementwise(GluMomentumUpdate{step}, n, in(t.a), out(t.c), out(t.d)); }},
          {[&](auto& t) { LaunchGluPrototype(to_, step, false, read(t.a), write(t.c), write(t.d)); },
           [&](auto& t) { RunElementwise(GluPrototypeUpdate{step}, n, in(t.a), in(t.c), out(t.d)); }},
          {[&](auto& t) { LaunchGluPrototype(to_, step, true, read(t.a), write(t.c), write(t.d)); },
           [&](auto& t) { RunElementwise(GluPrototypeRenewal{{step}}, n, in(t.a), out(t.c), out(t.d)); }},
          {[&](auto& t) { LaunchDcLocal(to_, step, read(t.a), read(t.b), write(t.c)); },
           [&](auto& t) { RunElementwise(DcLocalUpdate{step}, n, in(t.a), in(t.b), out(t.c)); }},
          {[&](auto& t) { LaunchInstallDifference(to_, 0.7f, read(t.a), read(t.b), write(t.c), write(t.d)); },
           [&](auto& t) {
             RunElementwise(DifferenceInstall{0.7f}, n, in(t.a), in(t.b), out(t.c), out(t.d));
           }},
          {[&](auto& t) { LaunchInstallCorrection(to_, 0.7f, read(t.a), write(t.c), write(t.d)); },
           [&](auto& t) { RunElementwise(CorrectionInstall{0.7f}, n, in(t.a), out(t.c), out(t.d)); }},
      };
      std::vector<float> a = Floats("a", n + offset), b = Floats("b", n + offset),
                         c = Floats("c", n + offset), d = Floats("d", n + offset);
      const Arrays host{a.data() + offset, b.data() + offset, c.data() + offset, d.data() + offset};
      float* const device_c = Put(c);
      float* const device_d = Put(d);
      const Arrays device{Put(a) + offset, Put(b) + offset, device_c + offset, device_d + offset};
      for (const auto& [launch, run] : pairs) {  // one after the other, on what the last one left
        launch(device);
        run(host);
      }
      ExpectBits(device_c, c, "the first array that is written");
      ExpectBits(device_d, d, "the second");
    }
  }
}

template <typename T>
class GpuTypedKernelsTest : public GpuKernelsTest {};
using Types = ::testing::Types<float, BFloat16, Float16>;
TYPED_TEST_SUITE(GpuTypedKernelsTest, Types);

TYPED_TEST(GpuTypedKernelsTest, PointwiseKernelsGiveTheHostsBits) {
  using T = TypeParam;
  const int64_t n = 1'000'003;
  std::vector<float> values = Floats("values", n);
  for (int64_t i = 0; i < n; ++i) values[i] = std::ldexp(values[i], static_cast<int>(i % 60) - 40);
  std::vector<T> x = Rounded<T>(values), sum = Rounded<T>(Floats("sum", n));
  T* const device_x = this->Put(x);
  T* const device_sum = this->Put(sum);
  LaunchAccumulate(this->to_, std::span<const T>(device_x, n), std::span<T>(device_sum, n));
  RunElementwise(Accumulate(), n, ReadArray<T>{x.data()}, UpdateArray{sum.data()});
  this->ExpectBits(device_sum, sum, "Accumulate");
  if constexpr (!std::is_same_v<T, float>) {
    LaunchCast(this->to_, std::span<const float>(this->Put(values), n), std::span<T>(device_sum, n));
    this->ExpectBits(device_sum, x, "Cast from float");
    std::vector<float> wide(n);
    float* const device_wide = this->Put(wide);
    LaunchCast(this->to_, std::span<const T>(device_x, n), std::span<float>(device_wide, n));
    this->ExpectBits(device_wide, testing::Widened(x), "Cast to float");
  }
  const float inverse_scale = 1.0f / 1024;
  for (const bool finite : {true, false}) {
    if (!finite) x[n - 2] = FromFloat<T>(INFINITY);
    std::vector<float> gradient(n);
    std::vector<int32_t> non_finite = {0};
    float* const device_gradient = this->Put(gradient);
    int32_t* const found = this->Put(non_finite);
    LaunchUnscale(this->to_, std::span<const T>(this->Put(x), n),
                  this->Put(std::vector<float>{inverse_scale}), std::span<float>(device_gradient, n), found);
    RunElementwise(Unscale{.inverse_scale = &inverse_scale, .non_finite = non_finite.data()}, n,
                   ReadArray<T>{x.data()}, WriteArray{gradient.data()});
    this->ExpectBits(device_gradient, gradient, "Unscale");
    EXPECT_EQ(non_finite[0], finite ? 0 : 1);
    int32_t on_device = -1;
    SSD_CUDA_CHECK(cudaMemcpy(&on_device, found, sizeof on_device, cudaMemcpyDeviceToHost));
    EXPECT_EQ(on_device, non_finite[0]);
  }
}

TYPED_TEST(GpuTypedKernelsTest, ShortcutsAndPoolsGiveTheHostsBits) {
  using T = TypeParam;
  const ActivationShape cases[][2] = {{{16, 16, 16, 32}, {16, 32, 32, 16}},  // residual networks'
                                      {{3, 3, 2, 13}, {3, 5, 3, 6}}};        // single channels
  for (const auto& [output, input] : cases) {
    const ShortcutMap map(output, input, 1);
    std::vector<T> s = Rounded<T>(Floats("s", input.size())), y = Rounded<T>(Floats("x", output.size()));
    std::vector<T> dy = Rounded<T>(Floats("dy", output.size())), ds = Rounded<T>(Floats("ds", input.size()));
    T *const device_y = this->Put(y), *const device_dy = this->Put(dy), *const device_ds = this->Put(ds);
    for (const bool relu : {false, true}) {
      LaunchShortcut(this->to_, output, input, relu, device_y, this->Put(s), device_y);
      LaunchShortcutGradient(this->to_, output, input, relu, device_y, device_dy, device_ds);
      if (relu) {
        RunItems(ShortcutForward<T, 1, true>{map, y.data(), s.data(), y.data()}, map.items());
        RunItems(ShortcutBackward<T, 1, true>{map, y.data(), dy.data(), ds.data()}, map.items());
      } else {
        RunItems(ShortcutForward<T, 1, false>{map, y.data(), s.data(), y.data()}, map.items());
        RunItems(ShortcutBackward<T, 1, false>{map, nullptr, dy.data(), ds.data()}, map.items());
      }
    }
    this->ExpectBits(device_y, y, "Shortcut");
    this->ExpectBits(device_dy, dy, "ShortcutGradient, masked");
    this->ExpectBits(device_ds, ds, "ShortcutGradient");

    const PoolShape shape{.input = input, .kernel = 3, .stride = 2, .padding = 1};
    const ActivationShape pooled = shape.output();
    const ChannelGroups from(input, 1), to(pooled, 1);
    const PoolWindow window{.kernel = 3, .stride = 2, .padding = 1};
    std::vector<T> pool(pooled.size()), pool_dx(input.size()),
        pool_dy = Rounded<T>(Floats("p", pooled.size()));
    std::vector<uint8_t> which(pooled.size());
    T *const device_pool = this->Put(pool), *const device_dx = this->Put(pool_dx);
    uint8_t* const device_which = this->Put(which);
    LaunchMaxPool<T>(this->to_, shape, this->Put(s), device_pool, device_which);
    LaunchMaxPoolGradient<T>(this->to_, shape, this->Put(pool_dy), device_which, device_dx);
    RunItems(MaxPoolForward<T, 1>{from, to, window, s.data(), pool.data(), which.data()}, to.items());
    RunItems(MaxPoolBackward<T, 1>{from, to, window, pool_dy.data(), which.data(), pool_dx.data()},
             from.items());
    this->ExpectBits(device_pool, pool, "MaxPool");
    this->ExpectBits(device_dx, pool_dx, "MaxPoolGradient");

    std::vector<T> mean(input.batch * input.channels), mean_dx(input.size());
    const Divisor channels(input.channels);
    const auto pixels = static_cast<int>(input.height * input.width);
    T *const device_mean = this->Put(mean), *const device_mean_dx = this->Put(mean_dx);
    LaunchGlobalAveragePool<T>(this->to_, input, this->Put(s), device_mean);
    LaunchGlobalAveragePoolGradient<T>(this->to_, input, device_mean, device_mean_dx);
    const GlobalAveragePoolForward<T, 1> forward{
        .groups = channels, .pixels = pixels, .x = s.data(), .y = mean.data()};
    RunItems(
        [&](uint32_t item) {
          std::vector<Lanes<float, 1>> sums;
          for (int lane = 0; lane < kPoolLanes; ++lane) sums.push_back(forward.LaneSum(item, lane));
          forward.Write(item, sums.data(), 1);
        },
        static_cast<int64_t>(mean.size()));
    RunItems(GlobalAveragePoolBackward<T, 1>{channels, Divisor(pixels), mean.data(), mean_dx.data()},
             input.size());
    this->ExpectBits(device_mean, mean, "GlobalAveragePool");
    this->ExpectBits(device_mean_dx, mean_dx, "GlobalAveragePoolGradient");
  }
}

TYPED_TEST(GpuTypedKernelsTest, ImagesAreTheHostsBits) {
  using T = TypeParam;
  const int32_t batch = 37;
  const ImageShape shape{.height = 9, .width = 7, .channels = 3};
  std::vector<uint8_t> pixels;
  for (const float value : Floats("pixels", batch * shape.size())) {
    pixels.push_back(static_cast<uint8_t>((value + 1) * 128));
  }
  std::vector<DrawnImage> draws;
  for (int32_t n = 0; n < batch; ++n) draws.push_back({batch - 1 - n, n % 9 - 4, n % 5 - 2, n % 2 == 1});
  const std::vector<float> values = Floats("values", 3 * kByteValues);
  std::vector<T> images(batch * shape.size());
  T* const device_images = this->Put(images);
  LaunchImageNormalization<T>(this->to_, shape, this->Put(pixels), std::span(this->Put(draws), batch),
                              this->Put(values), device_images);
  const ImageNormalization<T, 1> operation(shape, batch, pixels.data(), draws.data(), values.data(),
                                           images.data());
  RunItems(operation, operation.items());
  this->ExpectBits(device_images, images, "ImageNormalization");
}

TYPED_TEST(GpuTypedKernelsTest, SoftmaxCrossEntropyIsTheHostsToSomePlaces) {
  using T = TypeParam;
  for (const int classes : {10, 1000}) {
    const int64_t batch = 131;
    const std::vector<float> logits = Floats("logits", batch * classes);
    std::vector<int32_t> labels;
    for (int64_t n = 0; n < batch; ++n) labels.push_back(static_cast<int32_t>(n * 7919 % classes));
    const float scale = 64;
    std::vector<T> dlogits(logits.size());
    std::vector<SampleResult> results(batch);
    SoftmaxCrossEntropyStep<T> step{.batch = batch,
                                    .valid = batch - 1,
                                    .classes = classes,
                                    .logits = logits.data(),
                                    .labels = labels.data(),
                                    .scale = &scale,
                                    .dlogits = dlogits.data(),
                                    .results = results.data()};
    BatchSums expected;
    for (int64_t n = 0; n < batch; ++n) {
      const LogitScan scan = step.Scan(n, 0, 1);
      step.Finish(n, scan, step.Exponentials(n, scan, 0, 1), 0, 1);
      expected += {.loss = results[n].loss, .top_1 = results[n].top_1, .top_5 = results[n].top_5};
    }
    step.logits = this->Put(logits);
    step.labels = this->Put(labels);
    step.scale = this->Put(std::vector<float>{scale});
    step.dlogits = this->Put(std::vector<T>(logits.size()));
    step.results = this->Put(std::vector<SampleResult>(batch));
    BatchSums* const device_sums = this->Put(std::vector<BatchSums>(1));
    LaunchSoftmaxCrossEntropy(this->to_, step);
    LaunchBatchSummation(this->to_, std::span<const SampleResult>(step.results, batch), device_sums);
    SSD_CUDA_CHECK(cudaStreamSynchronize(this->to_.stream));
    BatchSums sums;
    SSD_CUDA_CHECK(cudaMemcpy(&sums, device_sums, sizeof sums, cudaMemcpyDeviceToHost));
    EXPECT_NEAR(sums.loss, expected.loss, expected.loss * 1e-13);
    EXPECT_EQ(sums.top_1, expected.top_1);
    EXPECT_EQ(sums.top_5, expected.top_5);
    std::vector<T> on_device(dlogits.size());
    SSD_CUDA_CHECK(
        cudaMemcpy(on_device.data(), step.dlogits, on_device.size() * sizeof(T), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < dlogits.size(); ++i) {
      const float value = ToFloat(dlogits[i]);
      ASSERT_NEAR(ToFloat(on_device[i]), value, std::abs(value) * testing::kEpsilon<T> + 0x1p-24) << i;
    }
  }
}

}  // namespace
}  // namespace ssd
