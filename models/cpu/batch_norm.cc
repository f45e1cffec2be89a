#include "models/cpu/batch_norm.h"

namespace ssd {

CpuBatchNorm::CpuBatchNorm(CpuRuntime& runtime, const BatchNormOptions& options, bool relu)
    : options_(options), moments_(options.shape), affine_(options) {
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

  // It is given the batch's statistics as if they were global ones. Backward is made without that flag, for
  // there they depend on x.
  const dnnl::batch_normalization_forward::primitive_desc training(
      dnnl::batch_normalization_forward::desc(dnnl::prop_kind::forward_training, data, epsilon,
                                              flags | Flags::use_global_stats),
      runtime.Attributes(), runtime.engine());
  const Memory::desc workspace = training.workspace_desc();
  if (relu) {
    workspace_ = std::make_unique<AlignedArray>((workspace.get_size() + 3) / sizeof(float));
    training_.emplace(Primitive::Make(runtime, training,
                                      {{DNNL_ARG_SRC, data},
                                       {DNNL_ARG_SCALE, channels},
                                       {DNNL_ARG_SHIFT, channels},
                                       {DNNL_ARG_MEAN, channels},
                                       {DNNL_ARG_VARIANCE, channels},
                                       {DNNL_ARG_WORKSPACE, workspace},
                                       {DNNL_ARG_DST, data}}));
  }

  const dnnl::batch_normalization_forward::primitive_desc inference(
      dnnl::batch_normalization_forward::desc(dnnl::prop_kind::forward_inference, data, epsilon,
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
      dnnl::batch_normalization_backward::desc(dnnl::prop_kind::backward, data, data, epsilon, flags),
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

void CpuBatchNorm::TrainingForward(const void* x, const float* scale, const float* shift, void* y,
                                   float* running_mean, float* running_variance) {
  moments_.Compute(static_cast<const float*>(x));
  moments_.MoveRunning(options_.momentum, running_mean, running_variance);
  if (training_.has_value()) {
    training_->Run(
        {x, scale, shift, moments_.mean_as_float(), moments_.variance_as_float(), workspace_->data(), y});
  } else {
    affine_.Set(scale, shift, moments_.mean(), moments_.variance());
    affine_.Apply(static_cast<const float*>(x), static_cast<float*>(y));
  }
}

void CpuBatchNorm::InferenceForward(const void* x, const float* scale, const float* shift, const float* mean,
                                    const float* variance, void* y) {
  inference_->Run({x, scale, shift, mean, variance, y});
}

void CpuBatchNorm::Backward(const void* x, const float* scale, const float* shift, const void* dy,
                            void* dx, float* dscale, float* dshift) {
  backward_->Run({x, scale, shift, moments_.mean_as_float(), moments_.variance_as_float(),
                  workspace_ ? workspace_->data() : nullptr, dy, dx, dscale, dshift});
}

}  // namespace ssd
