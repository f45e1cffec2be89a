#include "models/cpu/batch_norm.h"

namespace ssd {

CpuBatchNorm::CpuBatchNorm(CpuRuntime& runtime, const BatchNormOptions& options)
    : options_(options),
      moments_(options.shape.size() / options.shape.channels, options.shape.channels),
      mean_(options.shape.channels),
      variance_(options.shape.channels) {
  using Memory = dnnl::memory;
  using Flags = dnnl::normalization_flags;
  constexpr auto kFloat = Memory::data_type::f32;
  const ActivationShape& shape = options.shape;
  const Memory::desc data({shape.batch, shape.channels, shape.height, shape.width}, kFloat,
                          Memory::format_tag::nhwc);
  const Memory::desc channels({shape.channels}, kFloat, Memory::format_tag::a);
  Flags flags = Flags::use_scale | Flags::use_shift;
  if (options.relu) flags = flags | Flags::fuse_norm_relu;

  // It is given the batch's statistics as if they were global ones. Backward is made without that flag, for
  // there they depend on x.
  const dnnl::batch_normalization_forward::primitive_desc training(
      dnnl::batch_normalization_forward::desc(dnnl::prop_kind::forward_training, data, options.epsilon,
                                              flags | Flags::use_global_stats),
      runtime.Attributes(), runtime.engine());
  const Memory::desc workspace = training.workspace_desc();
  if (options.relu) workspace_ = std::make_unique<AlignedArray>((workspace.get_size() + 3) / sizeof(float));
  training_.emplace(Primitive::Make(runtime, training,
                                    {{DNNL_ARG_SRC, data},
                                     {DNNL_ARG_SCALE, channels},
                                     {DNNL_ARG_SHIFT, channels},
                                     {DNNL_ARG_DST, data},
                                     {DNNL_ARG_MEAN, channels},
                                     {DNNL_ARG_VARIANCE, channels},
                                     {DNNL_ARG_WORKSPACE, workspace}}));

  const dnnl::batch_normalization_forward::primitive_desc inference(
      dnnl::batch_normalization_forward::desc(dnnl::prop_kind::forward_inference, data, options.epsilon,
                                              flags | Flags::use_global_stats),
      runtime.Attributes(), runtime.engine());
  inference_.emplace(Primitive::Make(runtime, inference,
                                     {{DNNL_ARG_SRC, data},
                                      {DNNL_ARG_SCALE, channels},
                                      {DNNL_ARG_SHIFT, channels},
                                      {DNNL_ARG_MEAN, channels},
                                      {DNNL_ARG_VARIANCE, channels},
                                      {DNNL_ARG_DST, data}}));

  const dnnl::batch_normalization_backward::primitive_desc backward(
      dnnl::batch_normalization_backward::desc(dnnl::prop_kind::backward, data, data, options.epsilon, flags),
      runtime.Attributes(), runtime.engine(), training);
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

void CpuBatchNorm::TrainingForward(const float* x, const float* scale, const float* shift, float* y,
                                   float* running_mean, float* running_variance) {
  moments_.Compute(x, {mean_.data(), static_cast<size_t>(mean_.size())},
                   {variance_.data(), static_cast<size_t>(variance_.size())});
  training_->Run(
      {x, scale, shift, y, mean_.data(), variance_.data(), workspace_ ? workspace_->data() : nullptr});
  const double values = static_cast<double>(options_.shape.size() / options_.shape.channels);
  const auto unbiased = static_cast<float>(values > 1 ? values / (values - 1) : 1.0);
  for (int64_t c = 0; c < options_.shape.channels; ++c) {
    running_mean[c] += options_.momentum * (mean_.data()[c] - running_mean[c]);
    running_variance[c] += options_.momentum * (unbiased * variance_.data()[c] - running_variance[c]);
  }
}

void CpuBatchNorm::InferenceForward(const float* x, const float* scale, const float* shift, const float* mean,
                                    const float* variance, float* y) {
  inference_->Run({x, scale, shift, mean, variance, y});
}

void CpuBatchNorm::Backward(const float* x, const float* scale, const float* shift, const float* dy,
                            float* dx, float* dscale, float* dshift) {
  backward_->Run({x, scale, shift, mean_.data(), variance_.data(), workspace_ ? workspace_->data() : nullptr,
                  dy, dx, dscale, dshift});
}

}  // namespace ssd
