#include "tests/benchmark/onednn_device.h"

#include <chrono>
#include <dnnl.hpp>
#include <optional>
#include <utility>

#include "common/logging.h"
#include "models/cpu/convolution.h"
#include "models/cpu/device.h"
#include "models/cpu/primitive.h"

namespace ssd::benchmarks {
namespace {

template <typename Run>
void Time(double& seconds, Run run) {
  const auto before = std::chrono::steady_clock::now();
  run();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

std::unique_ptr<AlignedArray> ArrayOf(const dnnl::memory::desc& desc) {
  return std::make_unique<AlignedArray>((desc.get_size() + sizeof(float) - 1) / sizeof(float));
}

// Weights in a primitive's layout, brought there by the first call alone.
class PackedOnce {
 public:
  PackedOnce(CpuRuntime& runtime, const dnnl::memory::desc& plain, const dnnl::memory::desc& packed)
      : reorder_(WeightReorder::Pack(runtime, plain, packed)) {}

  const float* Get(const float* plain) {
    if (packed_ == nullptr) packed_ = reorder_.Packed(plain);
    return packed_;
  }

 private:
  WeightReorder reorder_;
  const float* packed_ = nullptr;
};

class BareConvolution final : public Convolution {
 public:
  BareConvolution(CpuRuntime& runtime, const ConvolutionShape& shape, bool input_gradient,
                  PrimitiveSeconds& seconds)
      : BareConvolution(runtime, ConvolutionDescriptions(runtime, shape, input_gradient), seconds) {}

  void Forward(const void* x, const float* weights, void* y) override {
    const float* packed = forward_weights_.Get(weights);
    Time(seconds_.forward, [&] { forward_.Run({x, packed, y}); });
  }
  void BackwardData(const float* weights, const void* dy, void* dx) override {
    const float* packed = data_weights_->Get(weights);
    Time(seconds_.backward_data, [&] { backward_data_->Run({dy, packed, dx}); });
  }
  void BackwardWeights(const void* x, const void* dy, float* /*dweights*/) override {
    Time(seconds_.backward_weights, [&] { backward_weights_.Run({x, dy, weights_gradient_->data()}); });
  }

 private:
  BareConvolution(CpuRuntime& runtime, const ConvolutionDescriptions& descriptions, PrimitiveSeconds& seconds)
      : seconds_(seconds),
        forward_weights_(runtime, descriptions.plain_weights, descriptions.forward.weights_desc()),
        forward_(descriptions.MakeForward(runtime)),
        weights_gradient_(ArrayOf(descriptions.backward_weights.diff_weights_desc())),
        backward_weights_(descriptions.MakeBackwardWeights(runtime)) {
    if (!descriptions.backward_data.has_value()) return;
    data_weights_.emplace(runtime, descriptions.plain_weights, descriptions.backward_data->weights_desc());
    backward_data_.emplace(descriptions.MakeBackwardData(runtime));
  }

  PrimitiveSeconds& seconds_;
  PackedOnce forward_weights_;
  Primitive forward_;
  std::optional<PackedOnce> data_weights_;
  std::optional<Primitive> backward_data_;
  const std::unique_ptr<AlignedArray> weights_gradient_;
  Primitive backward_weights_;
};

// oneDNN's batch norm as it comes: with its own statistics, and the ReLU where asked.
class BareBatchNorm final : public BatchNorm {
 public:
  BareBatchNorm(CpuRuntime& runtime, const BatchNormOptions& options, bool relu, PrimitiveSeconds& seconds)
      : seconds_(seconds), mean_(options.shape.channels), variance_(options.shape.channels) {
    using Memory = dnnl::memory;
    using Flags = dnnl::normalization_flags;
    constexpr auto kFloat = Memory::data_type::f32;
    const ActivationShape& shape = options.shape;
    const auto epsilon = static_cast<float>(options.epsilon);
    const Memory::desc data({shape.batch, shape.channels, shape.height, shape.width}, kFloat,
                            Memory::format_tag::nhwc);
    const Memory::desc channels({shape.channels}, kFloat, Memory::format_tag::a);
    Flags flags = Flags::use_scale | Flags::use_shift;
    if (relu) flags = flags | Flags::fuse_norm_relu;

    const dnnl::batch_normalization_forward::primitive_desc forward(
        dnnl::batch_normalization_forward::desc(dnnl::prop_kind::forward_training, data, epsilon, flags),
        runtime.Attributes(), runtime.engine());
    const Memory::desc workspace = forward.workspace_desc();
    if (relu) workspace_ = ArrayOf(workspace);
    forward_.emplace(Primitive::Make(runtime, forward,
                                     {{DNNL_ARG_SRC, data},
                                      {DNNL_ARG_SCALE, channels},
                                      {DNNL_ARG_SHIFT, channels},
                                      {DNNL_ARG_MEAN, channels},
                                      {DNNL_ARG_VARIANCE, channels},
                                      {DNNL_ARG_WORKSPACE, workspace},
                                      {DNNL_ARG_DST, data}}));
    const dnnl::batch_normalization_backward::primitive_desc backward(
        dnnl::batch_normalization_backward::desc(dnnl::prop_kind::backward, data, data, epsilon, flags),
        runtime.Attributes(), runtime.engine(), forward);
    backward_.emplace(Primitive::Make(runtime, backward,
                                      {{DNNL_ARG_SRC, data},
                                       {DNNL_ARG_SCALE, channels},
                                       {DNNL_ARG_SHIFT, channels},
                                       {DNNL_ARG_MEAN, channels},
                                       {DNNL_ARG_VARIANCE, channels},
                                       {DNNL_ARG_WORKSPACE, workspace},
                                       {DNNL_ARG_DIFF_DST, data},
                                       {DNNL_ARG_DIFF_SRC, data},
                                       {DNNL_ARG_DIFF_SCALE, channels},
                                       {DNNL_ARG_DIFF_SHIFT, channels}}));
  }

  void TrainingForward(const void* x, const float* scale, const float* shift, void* y,
                       float* /*running_mean*/, float* /*running_variance*/) override {
    Time(seconds_.batch_norm, [&] {
      forward_->Run({x, scale, shift, mean_.data(), variance_.data(), workspace(), y});
    });
  }
  void InferenceForward(const void*, const float*, const float*, const float*, const float*,
                        void*) override {
    LOG(FATAL) << "a training step is measured, and no evaluation";
  }
  void Backward(const void* x, const float* scale, const float* shift, const void* dy, void* dx,
                float* dscale, float* dshift) override {
    Time(seconds_.batch_norm, [&] {
      backward_->Run({x, scale, shift, mean_.data(), variance_.data(), workspace(), dy, dx, dscale, dshift});
    });
  }

 private:
  const void* workspace() const { return workspace_ ? workspace_->data() : nullptr; }

  PrimitiveSeconds& seconds_;
  AlignedArray mean_;
  AlignedArray variance_;
  std::unique_ptr<AlignedArray> workspace_;  // which outputs the ReLU let pass; null without one
  std::optional<Primitive> forward_;
  std::optional<Primitive> backward_;
};

class BareResidualNorm final : public ResidualNorm {
 public:
  BareResidualNorm(CpuRuntime& runtime, const BatchNormOptions& options, PrimitiveSeconds& seconds)
      : norm_(runtime, options, /*relu=*/true, seconds) {}

  void TrainingForward(const void* x, const void* /*s*/, const float* scale, const float* shift, void* y,
                       float* running_mean, float* running_variance) override {
    norm_.TrainingForward(x, scale, shift, y, running_mean, running_variance);
  }
  void InferenceForward(const void* x, const void*, const float* scale, const float* shift,
                        const float* mean, const float* variance, void* y) override {
    norm_.InferenceForward(x, scale, shift, mean, variance, y);
  }
  void Backward(const void* x, const float* scale, const float* shift, const void* /*y*/, void* dy,
                void* dx, float* dscale, float* dshift) override {
    norm_.Backward(x, scale, shift, dy, dx, dscale, dshift);
  }
  void AddShortcutGradient(const void*, void*) override {}

 private:
  BareBatchNorm norm_;
};

// A sum is no primitive's work.
class NoAccumulation final : public Accumulation {
 public:
  void Add(const void*, void*) override {}
};

// Operations of the CPU's device that are one primitive as they are.
class TimedMaxPool final : public MaxPool {
 public:
  TimedMaxPool(std::unique_ptr<MaxPool> operation, double& seconds)
      : operation_(std::move(operation)), seconds_(seconds) {}

  void Forward(const void* x, void* y) override {
    Time(seconds_, [&] { operation_->Forward(x, y); });
  }
  void Backward(const void* dy, void* dx) override {
    Time(seconds_, [&] { operation_->Backward(dy, dx); });
  }

 private:
  const std::unique_ptr<MaxPool> operation_;
  double& seconds_;
};

class TimedGlobalAveragePool final : public GlobalAveragePool {
 public:
  TimedGlobalAveragePool(std::unique_ptr<GlobalAveragePool> operation, double& seconds)
      : operation_(std::move(operation)), seconds_(seconds) {}

  void Forward(const void* x, void* y) override {
    Time(seconds_, [&] { operation_->Forward(x, y); });
  }
  void Backward(const void* dy, void* dx) override {
    Time(seconds_, [&] { operation_->Backward(dy, dx); });
  }

 private:
  const std::unique_ptr<GlobalAveragePool> operation_;
  double& seconds_;
};

class TimedLinear final : public Linear {
 public:
  TimedLinear(std::unique_ptr<Linear> operation, double& seconds)
      : operation_(std::move(operation)), seconds_(seconds) {}

  void Forward(const void* x, const float* weights, const float* bias, float* y) override {
    Time(seconds_, [&] { operation_->Forward(x, weights, bias, y); });
  }
  void BackwardData(const float* weights, const void* dy, void* dx) override {
    Time(seconds_, [&] { operation_->BackwardData(weights, dy, dx); });
  }
  void BackwardWeights(const void* x, const void* dy, float* dweights, float* dbias) override {
    Time(seconds_, [&] { operation_->BackwardWeights(x, dy, dweights, dbias); });
  }

 private:
  const std::unique_ptr<Linear> operation_;
  double& seconds_;
};

class OneDnnDevice final : public Device {
 public:
  OneDnnDevice(int threads, PrimitiveSeconds& seconds) : cpu_(MakeCpuDevice(threads)), seconds_(seconds) {}

  void Enter() override { cpu_->Enter(); }
  DeviceMemory& memory() override { return cpu_->memory(); }
  std::unique_ptr<ActivationArray> AllocateActivation(int64_t size) override {
    return cpu_->AllocateActivation(size);
  }
  void ReadActivation(const void* from, std::span<float> to) override { cpu_->ReadActivation(from, to); }
  Input Load(const Batch& batch) override { return cpu_->Load(batch); }
  void SetParameters(std::span<const float> parameters) override { cpu_->SetParameters(parameters); }
  std::span<float> BeginGradient(std::span<float> host, Model::GradientReady ready) override {
    return cpu_->BeginGradient(host, std::move(ready));
  }
  void GradientFinal(int64_t first) override { cpu_->GradientFinal(first); }
  void EndGradient(absl::AnyInvocable<void()> done) override { cpu_->EndGradient(std::move(done)); }

  std::unique_ptr<Convolution> MakeConvolution(const ConvolutionShape& shape, bool input_gradient) override {
    return std::make_unique<BareConvolution>(runtime_, shape, input_gradient, seconds_);
  }
  std::unique_ptr<BatchNorm> MakeBatchNorm(const BatchNormOptions& options, bool relu) override {
    return std::make_unique<BareBatchNorm>(runtime_, options, relu, seconds_);
  }
  std::unique_ptr<ResidualNorm> MakeResidualNorm(const BatchNormOptions& options,
                                                 const ActivationShape& /*shortcut*/) override {
    return std::make_unique<BareResidualNorm>(runtime_, options, seconds_);
  }
  std::unique_ptr<Accumulation> MakeAccumulation(int64_t /*size*/) override {
    return std::make_unique<NoAccumulation>();
  }
  std::unique_ptr<MaxPool> MakeMaxPool(const PoolShape& shape) override {
    return std::make_unique<TimedMaxPool>(cpu_->MakeMaxPool(shape), seconds_.other);
  }
  std::unique_ptr<GlobalAveragePool> MakeGlobalAveragePool(const ActivationShape& input) override {
    return std::make_unique<TimedGlobalAveragePool>(cpu_->MakeGlobalAveragePool(input), seconds_.other);
  }
  std::unique_ptr<Linear> MakeLinear(int64_t batch, int64_t inputs, int64_t outputs) override {
    return std::make_unique<TimedLinear>(cpu_->MakeLinear(batch, inputs, outputs), seconds_.other);
  }
  std::unique_ptr<SoftmaxCrossEntropy> MakeSoftmaxCrossEntropy(int64_t batch, int64_t classes) override {
    return cpu_->MakeSoftmaxCrossEntropy(batch, classes);
  }

 private:
  const std::unique_ptr<Device> cpu_;
  CpuRuntime runtime_;
  PrimitiveSeconds& seconds_;
};

}  // namespace

std::unique_ptr<Device> MakeOneDnnDevice(int threads, PrimitiveSeconds& seconds) {
  return std::make_unique<OneDnnDevice>(threads, seconds);
}

void OneDnnSgemm(int threads, int64_t size, const float* a, const float* b, float* c) {
  SetThreads(threads);
  const dnnl::status status = dnnl::sgemm('N', 'N', size, size, size, 1.0f, a, size, b, size, 0.0f, c, size);
  CHECK(status == dnnl::status::success);
}

}  // namespace ssd::benchmarks
