#include "models/cpu/residual_add.h"

#include <algorithm>

#include "common/logging.h"

namespace ssd {

CpuResidualAdd::CpuResidualAdd(CpuRuntime& runtime, const ActivationShape& input,
                               const ActivationShape& output)
    : input_(input), output_(output) {
  using Memory = dnnl::memory;
  stride_ = (input.height + output.height - 1) / output.height;
  CHECK_EQ(output.batch, input.batch);
  CHECK_EQ(output.height, (input.height + stride_ - 1) / stride_);
  CHECK_EQ(output.width, (input.width + stride_ - 1) / stride_);
  CHECK_GE(output.channels, input.channels);
  channels_before_ = (output.channels - input.channels) / 2;

  const Memory::desc flat({output.size()}, Memory::data_type::f32, Memory::format_tag::a);
  const dnnl::eltwise_forward::primitive_desc relu(
      dnnl::eltwise_forward::desc(dnnl::prop_kind::forward_training,
                                  dnnl::algorithm::eltwise_relu_use_dst_for_bwd, flat, 0.0f),
      runtime.Attributes(), runtime.engine());
  const dnnl::eltwise_backward::primitive_desc mask(
      dnnl::eltwise_backward::desc(dnnl::algorithm::eltwise_relu_use_dst_for_bwd, flat, flat, 0.0f),
      runtime.Attributes(), runtime.engine(), relu);
  mask_.emplace(Primitive::Make(
      runtime, mask, {{DNNL_ARG_DST, flat}, {DNNL_ARG_DIFF_DST, flat}, {DNNL_ARG_DIFF_SRC, flat}}));
  if (input != output) return;

  dnnl::primitive_attr with_relu = runtime.Attributes();
  dnnl::post_ops then_relu;
  then_relu.append_eltwise(/*scale=*/1.0f, dnnl::algorithm::eltwise_relu, /*alpha=*/0.0f, /*beta=*/0.0f);
  with_relu.set_post_ops(then_relu);
  const dnnl::binary::desc sum(dnnl::algorithm::binary_add, flat, flat, flat);
  const std::vector<Primitive::Argument> arguments = {
      {DNNL_ARG_SRC_0, flat}, {DNNL_ARG_SRC_1, flat}, {DNNL_ARG_DST, flat}};
  add_relu_.emplace(
      Primitive::Make(runtime, dnnl::binary::primitive_desc(sum, with_relu, runtime.engine()), arguments));
  add_.emplace(Primitive::Make(
      runtime, dnnl::binary::primitive_desc(sum, runtime.Attributes(), runtime.engine()), arguments));
}

int64_t CpuResidualAdd::InputOffset(int64_t n, int64_t h, int64_t w) const {
  return ((n * input_.height + h * stride_) * input_.width + w * stride_) * input_.channels;
}

int64_t CpuResidualAdd::OutputOffset(int64_t n, int64_t h, int64_t w) const {
  return ((n * output_.height + h) * output_.width + w) * output_.channels;
}

void CpuResidualAdd::Forward(const float* x, float* y) {
  if (add_relu_) return add_relu_->Run({y, x, y});
#pragma omp parallel for schedule(static)
  for (int64_t n = 0; n < output_.batch; ++n) {
    for (int64_t h = 0; h < output_.height; ++h) {
      for (int64_t w = 0; w < output_.width; ++w) {
        const float* from = x + InputOffset(n, h, w);
        float* to = y + OutputOffset(n, h, w);
        for (int64_t c = 0; c < input_.channels; ++c) to[channels_before_ + c] += from[c];
        for (int64_t c = 0; c < output_.channels; ++c) to[c] = to[c] < 0 ? 0 : to[c];  // a NaN stays one
      }
    }
  }
}

void CpuResidualAdd::Backward(const float* y, float* dy) { mask_->Run({y, dy, dy}); }

void CpuResidualAdd::AddShortcutGradient(const float* dy, float* dx) {
  if (add_) return add_->Run({dx, dy, dx});
#pragma omp parallel for schedule(static)
  for (int64_t n = 0; n < output_.batch; ++n) {
    for (int64_t h = 0; h < output_.height; ++h) {
      for (int64_t w = 0; w < output_.width; ++w) {
        const float* from = dy + OutputOffset(n, h, w) + channels_before_;
        float* to = dx + InputOffset(n, h, w);
        for (int64_t c = 0; c < input_.channels; ++c) to[c] += from[c];
      }
    }
  }
}

}  // namespace ssd
