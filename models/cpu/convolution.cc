#include "models/cpu/convolution.h"

#include "common/logging.h"

namespace ssd {

ConvolutionDescriptions::ConvolutionDescriptions(const CpuRuntime& runtime, const ConvolutionShape& shape,
                                                 bool input_gradient) {
  using Memory = dnnl::memory;
  constexpr auto kFloat = Memory::data_type::f32;
  const ActivationShape& input = shape.input;
  const ActivationShape output = shape.output();
  x = Memory::desc({input.batch, input.channels, input.height, input.width}, kFloat,
                   Memory::format_tag::nhwc);
  y = Memory::desc({output.batch, output.channels, output.height, output.width}, kFloat,
                   Memory::format_tag::nhwc);
  const Memory::dims weight_dims = {shape.outputs, input.channels, shape.kernel, shape.kernel};
  plain_weights = Memory::desc(weight_dims, kFloat, Memory::format_tag::ohwi);
  const Memory::desc any(weight_dims, kFloat, Memory::format_tag::any);
  const Memory::dims stride = {shape.stride, shape.stride};
  const Memory::dims padding = {shape.padding, shape.padding};
  // Not convolution_auto: Winograd's rounding errors are a hundred times larger.
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

  forward = dnnl::convolution_forward::primitive_desc(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training, kAlgorithm, x, any, y, stride,
                                      padding, padding),
      runtime.Attributes(), runtime.engine());
  if (input_gradient) {
    backward_data = dnnl::convolution_backward_data::primitive_desc(
        dnnl::convolution_backward_data::desc(kAlgorithm, x, any, y, stride, padding, padding),
        runtime.Attributes(), runtime.engine(), forward);
  }
  backward_weights = dnnl::convolution_backward_weights::primitive_desc(
      dnnl::convolution_backward_weights::desc(kAlgorithm, x, any, y, stride, padding, padding),
      runtime.Attributes(), runtime.engine(), forward);
}

Primitive ConvolutionDescriptions::MakeForward(CpuRuntime& runtime) const {
  return Primitive::Make(runtime, forward,
                         {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, forward.weights_desc()}, {DNNL_ARG_DST, y}});
}

Primitive ConvolutionDescriptions::MakeBackwardData(CpuRuntime& runtime) const {
  return Primitive::Make(
      runtime, *backward_data,
      {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_WEIGHTS, backward_data->weights_desc()}, {DNNL_ARG_DIFF_SRC, x}});
}

Primitive ConvolutionDescriptions::MakeBackwardWeights(CpuRuntime& runtime) const {
  return Primitive::Make(runtime, backward_weights,
                         {{DNNL_ARG_SRC, x},
                          {DNNL_ARG_DIFF_DST, y},
                          {DNNL_ARG_DIFF_WEIGHTS, backward_weights.diff_weights_desc()}});
}

CpuConvolution::CpuConvolution(CpuRuntime& runtime, const ConvolutionShape& shape, bool input_gradient) {
  const ConvolutionDescriptions descriptions(runtime, shape, input_gradient);
  const dnnl::memory::desc& plain = descriptions.plain_weights;
  forward_.emplace(Direction{WeightReorder::Pack(runtime, plain, descriptions.forward.weights_desc()),
                             descriptions.MakeForward(runtime)});
  if (input_gradient) {
    backward_data_.emplace(
        Direction{WeightReorder::Pack(runtime, plain, descriptions.backward_data->weights_desc()),
                  descriptions.MakeBackwardData(runtime)});
  }
  backward_weights_.emplace(
      Direction{WeightReorder::Unpack(runtime, descriptions.backward_weights.diff_weights_desc(), plain),
                descriptions.MakeBackwardWeights(runtime)});
}

void CpuConvolution::Forward(const void* x, const float* weights, void* y) {
  forward_->primitive.Run({x, forward_->weights.Packed(weights), y});
}

void CpuConvolution::BackwardData(const float* weights, const void* dy, void* dx) {
  CHECK(backward_data_.has_value());
  backward_data_->primitive.Run({dy, backward_data_->weights.Packed(weights), dx});
}

void CpuConvolution::BackwardWeights(const void* x, const void* dy, float* dweights) {
  backward_weights_->primitive.Run({x, dy, backward_weights_->weights.Target(dweights)});
  backward_weights_->weights.Finish(dweights);
}

}  // namespace ssd
