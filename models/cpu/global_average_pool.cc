#include "models/cpu/global_average_pool.h"

namespace ssd {

CpuGlobalAveragePool::CpuGlobalAveragePool(CpuRuntime& runtime, const ActivationShape& input) {
  using Memory = dnnl::memory;
  constexpr auto kFloat = Memory::data_type::f32;
  constexpr auto kAlgorithm = dnnl::algorithm::pooling_avg_exclude_padding;  // there is none
  const Memory::desc x({input.batch, input.channels, input.height, input.width}, kFloat,
                       Memory::format_tag::nhwc);
  const Memory::desc y({input.batch, input.channels, 1, 1}, kFloat, Memory::format_tag::nhwc);
  const Memory::dims kernel = {input.height, input.width};
  const Memory::dims none = {0, 0};

  const dnnl::pooling_forward::primitive_desc forward(
      dnnl::pooling_forward::desc(dnnl::prop_kind::forward_training, kAlgorithm, x, y, kernel, kernel, none,
                                  none),
      runtime.Attributes(), runtime.engine());
  forward_.emplace(Primitive::Make(runtime, forward, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}}));

  const dnnl::pooling_backward::primitive_desc backward(
      dnnl::pooling_backward::desc(kAlgorithm, x, y, kernel, kernel, none, none), runtime.Attributes(),
      runtime.engine(), forward);
  backward_.emplace(Primitive::Make(runtime, backward, {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_DIFF_SRC, x}}));
}

}  // namespace ssd
