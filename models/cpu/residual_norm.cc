#include "models/cpu/residual_norm.h"

#include <algorithm>
#include <type_traits>

#include "common/logging.h"

namespace ssd {
namespace {

constexpr int64_t kAffineLanes = 8;  // channels whose factors and offsets stay in registers

// kCount channels of `width` positions that lie `stride` floats apart, and `s_stride` in the shortcut. In
// double, rounded once: see ChannelAffine.
template <int64_t kCount, bool kShortcut>
void ApplyColumns(const float* __restrict x, const float* __restrict s, float* __restrict y, int64_t width,
                  int64_t stride, int64_t s_stride, const double* factors, const double* offsets) {
  double factor[kCount];
  double offset[kCount];
  std::copy_n(factors, kCount, factor);
  std::copy_n(offsets, kCount, offset);
  for (int64_t w = 0; w < width; ++w, x += stride, y += stride) {
    float sum[kCount];  // apart from the ReLU, or the compiler makes no vectors of it
    for (int64_t c = 0; c < kCount; ++c) {
      const double normalised = x[c] * factor[c] + offset[c];
      sum[c] = static_cast<float>(kShortcut ? normalised + s[c] : normalised);
    }
    for (int64_t c = 0; c < kCount; ++c) y[c] = sum[c] < 0 ? 0 : sum[c];  // a NaN stays one
    if constexpr (kShortcut) s += s_stride;
  }
}

}  // namespace

CpuResidualNorm::CpuResidualNorm(CpuRuntime& runtime, const BatchNormOptions& options,
                                 const ActivationShape& shortcut)
    : options_(options),
      shape_(options.shape),
      shortcut_(shortcut),
      stride_((shortcut.height + shape_.height - 1) / shape_.height),
      channels_before_((shape_.channels - shortcut.channels) / 2),
      moments_(options.shape),
      affine_(options) {
  CHECK_EQ(shape_.batch, shortcut.batch);
  CHECK_EQ(shape_.height, (shortcut.height + stride_ - 1) / stride_);
  CHECK_EQ(shape_.width, (shortcut.width + stride_ - 1) / stride_);
  CHECK_GE(shape_.channels, shortcut.channels);

  using Memory = dnnl::memory;
  using Flags = dnnl::normalization_flags;
  constexpr auto kFloat = Memory::data_type::f32;
  constexpr auto kMask = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
  const Memory::desc flat({shape_.size()}, kFloat, Memory::format_tag::a);
  const dnnl::eltwise_forward::primitive_desc relu(
      dnnl::eltwise_forward::desc(dnnl::prop_kind::forward_training, kMask, flat, 0.0f), runtime.Attributes(),
      runtime.engine());
  const dnnl::eltwise_backward::primitive_desc mask(dnnl::eltwise_backward::desc(kMask, flat, flat, 0.0f),
                                                    runtime.Attributes(), runtime.engine(), relu);
  mask_.emplace(Primitive::Make(
      runtime, mask, {{DNNL_ARG_DST, flat}, {DNNL_ARG_DIFF_DST, flat}, {DNNL_ARG_DIFF_SRC, flat}}));

  const Memory::desc data({shape_.batch, shape_.channels, shape_.height, shape_.width}, kFloat,
                          Memory::format_tag::nhwc);
  const Memory::desc channels({shape_.channels}, kFloat, Memory::format_tag::a);
  const auto epsilon = static_cast<float>(options.epsilon);
  const Flags flags = Flags::use_scale | Flags::use_shift;
  const dnnl::batch_normalization_forward::primitive_desc hint(
      dnnl::batch_normalization_forward::desc(dnnl::prop_kind::forward_training, data, epsilon, flags),
      runtime.Attributes(), runtime.engine());
  const dnnl::batch_normalization_backward::primitive_desc backward(
      dnnl::batch_normalization_backward::desc(dnnl::prop_kind::backward, data, data, epsilon, flags),
      runtime.Attributes(), runtime.engine(), hint);
  backward_.emplace(Primitive::Make(runtime, backward,
                                    {{DNNL_ARG_SRC, data},
                                     {DNNL_ARG_SCALE, channels},
                                     {DNNL_ARG_SHIFT, channels},
                                     {DNNL_ARG_MEAN, channels},
                                     {DNNL_ARG_VARIANCE, channels},
                                     {DNNL_ARG_DIFF_DST, data},
                                     {DNNL_ARG_DIFF_SRC, data},
                                     {DNNL_ARG_DIFF_SCALE, channels},
                                     {DNNL_ARG_DIFF_SHIFT, channels}}));
}

int64_t CpuResidualNorm::ShortcutRow(int64_t row) const {
  const int64_t n = row / shape_.height;
  const int64_t h = row % shape_.height;
  return (n * shortcut_.height + h * stride_) * shortcut_.width * shortcut_.channels;
}

void CpuResidualNorm::TrainingForward(const void* x, const void* s, const float* scale, const float* shift,
                                      void* y, float* running_mean, float* running_variance) {
  moments_.Compute(static_cast<const float*>(x));
  moments_.MoveRunning(options_.momentum, running_mean, running_variance);
  affine_.Set(scale, shift, moments_.mean(), moments_.variance());
  Apply(static_cast<const float*>(x), static_cast<const float*>(s), static_cast<float*>(y));
}

void CpuResidualNorm::InferenceForward(const void* x, const void* s, const float* scale, const float* shift,
                                       const float* mean, const float* variance, void* y) {
  affine_.Set(scale, shift, mean, variance);
  Apply(static_cast<const float*>(x), static_cast<const float*>(s), static_cast<float*>(y));
}

void CpuResidualNorm::Apply(const float* x, const float* s, float* y) {
  const int64_t before = channels_before_;
  const int64_t after = before + shortcut_.channels;
  const int64_t s_stride = stride_ * shortcut_.channels;
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < shape_.batch * shape_.height; ++row) {
    const float* from = x + OutputRow(row);
    const float* added = s + ShortcutRow(row);
    float* to = y + OutputRow(row);
    const auto apply = [&](int64_t first, int64_t end, auto with_shortcut) {
      constexpr bool kShortcut = decltype(with_shortcut)::value;
      int64_t c = first;
      for (; c + kAffineLanes <= end; c += kAffineLanes) {
        ApplyColumns<kAffineLanes, kShortcut>(from + c, kShortcut ? added + (c - before) : nullptr, to + c,
                                              shape_.width, shape_.channels, s_stride, affine_.factor() + c,
                                              affine_.offset() + c);
      }
      for (; c < end; ++c) {
        ApplyColumns<1, kShortcut>(from + c, kShortcut ? added + (c - before) : nullptr, to + c, shape_.width,
                                   shape_.channels, s_stride, affine_.factor() + c, affine_.offset() + c);
      }
    };
    apply(0, before, std::false_type());
    apply(before, after, std::true_type());
    apply(after, shape_.channels, std::false_type());
  }
}

void CpuResidualNorm::Backward(const void* x, const float* scale, const float* shift, const void* y, void* dy,
                               void* dx, float* dscale, float* dshift) {
  mask_->Run({y, dy, dy});
  backward_->Run(
      {x, scale, shift, moments_.mean_as_float(), moments_.variance_as_float(), dy, dx, dscale, dshift});
}

void CpuResidualNorm::AddShortcutGradient(const void* dy, void* ds) {
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < shape_.batch * shape_.height; ++row) {
    const float* from = static_cast<const float*>(dy) + OutputRow(row) + channels_before_;
    float* to = static_cast<float*>(ds) + ShortcutRow(row);
    if (shape_ == shortcut_) {
      for (int64_t i = 0; i < shape_.width * shape_.channels; ++i) to[i] += from[i];
      continue;
    }
    for (int64_t w = 0; w < shape_.width; ++w) {
      for (int64_t c = 0; c < shortcut_.channels; ++c) to[c] += from[c];
      from += shape_.channels;
      to += stride_ * shortcut_.channels;
    }
  }
}

}  // namespace ssd
