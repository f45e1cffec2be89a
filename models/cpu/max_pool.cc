#include "models/cpu/max_pool.h"

#include "common/logging.h"

namespace ssd {

CpuMaxPool::CpuMaxPool(CpuRuntime& runtime, const PoolShape& shape) {
  CHECK(0 <= shape.padding && shape.padding <= shape.kernel / 2) << shape.padding;
  using Memory = dnnl::memory;
  constexpr auto kFloat = Memory::data_type::f32;
  constexpr auto kAlgorithm = dnnl::algorithm::pooling_max;
  const ActivationShape& input = shape.input;
  const ActivationShape output = shape.output();
  const Memory::desc x({input.batch, input.channels, input.height, input.width}, kFloat,
                       Memory::format_tag::nhwc);
  const Memory::desc y({output.batch, output.channels, output.height, output.width}, kFloat,
                       Memory::format_tag::nhwc);
  const Memory::dims kernel = {shape.kernel, shape.kernel};
  const Memory::dims stride = {shape.stride, shape.stride};
  const Memory::dims padding = {shape.padding, shape.padding};

  const dnnl::pooling_forward::primitive_desc forward(
      dnnl::pooling_forward::desc(dnnl::prop_kind::forward_training, kAlgorithm, x, y, stride, kernel,
                                  padding, padding),
      runtime.Attributes(), runtime.engine());
  const Memory::desc workspace = forward.workspace_desc();
  workspace_ = std::make_unique<AlignedArray>((workspace.get_size() + sizeof(float) - 1) / sizeof(float));
  forward_.emplace(Primitive::Make(runtime, forward,
                                   {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}, {DNNL_ARG_WORKSPACE, workspace}}));

  const dnnl::pooling_backward::primitive_desc backward(
      dnnl::pooling_backward::desc(kAlgorithm, x, y, stride, kernel, padding, padding), runtime.Attributes(),
      runtime.engine(), forward);
  backward_.emplace(Primitive::Make(
      runtime, backward, {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_WORKSPACE, workspace}, {DNNL_ARG_DIFF_SRC, x}}));
}

}  // namespace ssd
