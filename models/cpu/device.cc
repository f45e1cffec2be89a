#include "models/cpu/device.h"

#include <utility>

#include "models/cpu/accumulation.h"
#include "models/cpu/batch_norm.h"
#include "models/cpu/convolution.h"
#include "models/cpu/global_average_pool.h"
#include "models/cpu/linear.h"
#include "models/cpu/max_pool.h"
#include "models/cpu/primitive.h"
#include "models/cpu/residual_norm.h"
#include "models/cpu/softmax_cross_entropy.h"
#include "models/host_memory.h"

namespace ssd {
namespace {

class FloatActivation final : public ActivationArray {
 public:
  explicit FloatActivation(int64_t size) : values_(size) {}
  void* data() const override { return values_.data(); }

 private:
  AlignedArray values_;
};

class CpuDevice final : public Device {
 public:
  // oneDNN decides when it makes a primitive for how many threads, so the setting has to be there by then.
  explicit CpuDevice(int threads) : threads_(threads) { Enter(); }

  void Enter() override { SetThreads(threads_); }

  DeviceMemory& memory() override { return memory_; }
  std::unique_ptr<ActivationArray> AllocateActivation(int64_t size) override {
    return std::make_unique<FloatActivation>(size);
  }
  void ReadActivation(const void* from, std::span<float> to) override {
    memory_.Download(static_cast<const float*>(from), to);
  }

  Input Load(const Batch& batch) override { return {batch.images.data(), batch.labels.data()}; }
  void SetParameters(std::span<const float> /*parameters*/) override {}
  std::span<float> BeginGradient(std::span<float> host, Model::GradientReady ready) override {
    ready_ = std::move(ready);
    return host;
  }
  void GradientFinal(int64_t first) override { ready_(first); }
  void EndGradient(absl::AnyInvocable<void()> done) override { done(); }

  std::unique_ptr<Convolution> MakeConvolution(const ConvolutionShape& shape, bool input_gradient) override {
    return std::make_unique<CpuConvolution>(runtime_, shape, input_gradient);
  }
  std::unique_ptr<BatchNorm> MakeBatchNorm(const BatchNormOptions& options, bool relu) override {
    return std::make_unique<CpuBatchNorm>(runtime_, options, relu);
  }
  std::unique_ptr<ResidualNorm> MakeResidualNorm(const BatchNormOptions& options,
                                                 const ActivationShape& shortcut) override {
    return std::make_unique<CpuResidualNorm>(runtime_, options, shortcut);
  }
  std::unique_ptr<Accumulation> MakeAccumulation(int64_t size) override {
    return std::make_unique<CpuAccumulation>(size);
  }
  std::unique_ptr<MaxPool> MakeMaxPool(const PoolShape& shape) override {
    return std::make_unique<CpuMaxPool>(runtime_, shape);
  }
  std::unique_ptr<GlobalAveragePool> MakeGlobalAveragePool(const ActivationShape& input) override {
    return std::make_unique<CpuGlobalAveragePool>(runtime_, input);
  }
  std::unique_ptr<Linear> MakeLinear(int64_t batch, int64_t inputs, int64_t outputs) override {
    return std::make_unique<CpuLinear>(runtime_, batch, inputs, outputs);
  }
  std::unique_ptr<SoftmaxCrossEntropy> MakeSoftmaxCrossEntropy(int64_t batch, int64_t classes) override {
    return std::make_unique<CpuSoftmaxCrossEntropy>(batch, classes);
  }

 private:
  const int threads_;
  HostMemory memory_;
  Model::GradientReady ready_;  // of the last training pass
  CpuRuntime runtime_;
};

}  // namespace

std::unique_ptr<Device> MakeCpuDevice(int threads) { return std::make_unique<CpuDevice>(threads); }

}  // namespace ssd
