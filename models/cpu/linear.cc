#include "models/cpu/linear.h"

namespace ssd {

CpuLinear::CpuLinear(CpuRuntime& runtime, int64_t batch, int64_t inputs, int64_t outputs) {
  using Memory = dnnl::memory;
  constexpr auto kFloat = Memory::data_type::f32;
  // Plain layouts throughout: a classifier is small, and its reorders would cost what a faster layout saves.
  const Memory::desc x({batch, inputs}, kFloat, Memory::format_tag::ab);
  const Memory::desc w({outputs, inputs}, kFloat, Memory::format_tag::ab);
  const Memory::desc b({outputs}, kFloat, Memory::format_tag::a);
  const Memory::desc y({batch, outputs}, kFloat, Memory::format_tag::ab);

  const dnnl::inner_product_forward::primitive_desc forward(
      dnnl::inner_product_forward::desc(dnnl::prop_kind::forward_training, x, w, b, y), runtime.Attributes(),
      runtime.engine());
  forward_.emplace(Primitive::Make(
      runtime, forward, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_BIAS, b}, {DNNL_ARG_DST, y}}));

  const dnnl::inner_product_backward_data::primitive_desc data(
      dnnl::inner_product_backward_data::desc(x, w, y), runtime.Attributes(), runtime.engine(), forward);
  backward_data_.emplace(Primitive::Make(
      runtime, data, {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_SRC, x}}));

  const dnnl::inner_product_backward_weights::primitive_desc weights(
      dnnl::inner_product_backward_weights::desc(x, w, b, y), runtime.Attributes(), runtime.engine(),
      forward);
  backward_weights_.emplace(Primitive::Make(
      runtime, weights,
      {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_DIFF_WEIGHTS, w}, {DNNL_ARG_DIFF_BIAS, b}}));
}

}  // namespace ssd
