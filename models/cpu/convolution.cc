#include "models/cpu/convolution.h"

#include "common/logging.h"

namespace ssd {

CpuConvolution::CpuConvolution(CpuRuntime& runtime, const ConvolutionShape& shape, bool input_gradient) {
  using Memory = dnnl::memory;
  constexpr auto kFloat = Memory::data_type::f32;
  const ActivationShape& input = shape.input;
  const ActivationShape output = shape.output();
  const Memory::desc x({input.batch, input.channels, input.height, input.width}, kFloat,
                       Memory::format_tag::nhwc);
  const Memory::desc y({output.batch, output.channels, output.height, output.width}, kFloat,
                       Memory::format_tag::nhwc);
  const Memory::dims weight_dims = {shape.outputs, input.channels, shape.kernel, shape.kernel};
  const Memory::desc plain(weight_dims, kFloat, Memory::format_tag::ohwi);
  const Memory::desc any(weight_dims, kFloat, Memory::format_tag::any);
  const Memory::dims stride = {shape.stride, shape.stride};
  const Memory::dims padding = {shape.padding, shape.padding};
  // Not convolution_auto: Winograd's rounding errors are a hundred times larger.
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

  const dnnl::convolution_forward::primitive_desc forward(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training, kAlgorithm, x, any, y, stride,
                                      padding, padding),
      runtime.Attributes(), runtime.engine());
  forward_.emplace(Direction{
      WeightReorder::Pack(runtime, plain, forward.weights_desc()),
      Primitive::Make(runtime, forward,
                      {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, forward.weights_desc()}, {DNNL_ARG_DST, y}})});

  if (input_gradient) {
    const dnnl::convolution_backward_data::primitive_desc data(
        dnnl::convolution_backward_data::desc(kAlgorithm, x, any, y, stride, padding, padding),
        runtime.Attributes(), runtime.engine(), forward);
    backward_data_.emplace(Direction{
        WeightReorder::Pack(runtime, plain, data.weights_desc()),
        Primitive::Make(
            runtime, data,
            {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_WEIGHTS, data.weights_desc()}, {DNNL_ARG_DIFF_SRC, x}})});
  }

  const dnnl::convolution_backward_weights::primitive_desc weights(
      dnnl::convolution_backward_weights::desc(kAlgorithm, x, any, y, stride, padding, padding),
      runtime.Attributes(), runtime.engine(), forward);
  backward_weights_.emplace(
      Direction{WeightReorder::Unpack(runtime, weights.diff_weights_desc(), plain),
                Primitive::Make(runtime, weights,
                                {{DNNL_ARG_SRC, x},
                                 {DNNL_ARG_DIFF_DST, y},
                                 {DNNL_ARG_DIFF_WEIGHTS, weights.diff_weights_desc()}})});
}

void CpuConvolution::Forward(const float* x, const float* weights, float* y) {
  forward_->primitive.Run({x, forward_->weights.Packed(weights), y});
}

void CpuConvolution::BackwardData(const float* weights, const float* dy, float* dx) {
  CHECK(backward_data_.has_value());
  backward_data_->primitive.Run({dy, backward_data_->weights.Packed(weights), dx});
}

void CpuConvolution::BackwardWeights(const float* x, const float* dy, float* dweights) {
  backward_weights_->primitive.Run({x, dy, backward_weights_->weights.Target(dweights)});
  backward_weights_->weights.Finish(dweights);
}

}  // namespace ssd
