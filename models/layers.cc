#include "models/layers.h"

#include "absl/strings/str_cat.h"

namespace ssd {
namespace {

// Adds a tensor and returns its offset.
int64_t AddTensor(ParameterLayout& layout, absl::string_view name, absl::string_view suffix,
                  std::vector<int64_t> shape) {
  return layout.tensors()[layout.Add(absl::StrCat(name, suffix), std::move(shape))].offset;
}

}  // namespace

BatchNormTensors::BatchNormTensors(absl::string_view name, int64_t channels, ModelLayout& layout)
    : scale(AddTensor(layout.parameters, name, ".weight", {channels})),
      shift(AddTensor(layout.parameters, name, ".bias", {channels})),
      mean(AddTensor(layout.buffers, name, ".running_mean", {channels})),
      variance(AddTensor(layout.buffers, name, ".running_var", {channels})) {}

ConvolutionLayer::ConvolutionLayer(absl::string_view name, const ConvolutionShape& shape, ModelLayout& layout)
    : shape_(shape),
      weight_(AddTensor(layout.parameters, name, ".weight",
                        {shape.outputs, shape.input.channels, shape.kernel, shape.kernel})) {}

void ConvolutionLayer::Build(Device& device, bool input_gradient) {
  operation_ = device.MakeConvolution(shape_, input_gradient);
  output_ = device.AllocateActivation(shape_.output().size());
}

const void* ConvolutionLayer::Forward(const void* x, const ForwardPass& pass) {
  operation_->Forward(x, pass.parameters + weight_, output_->data());
  return output_->data();
}

void ConvolutionLayer::Backward(const void* x, void* dy, void* dx, const BackwardPass& pass) {
  operation_->BackwardWeights(x, dy, pass.gradient + weight_);
  pass.ready(weight_);  // the gradient is on its way while dx is computed
  if (dx != nullptr) operation_->BackwardData(pass.parameters + weight_, dy, dx);
}

BatchNormLayer::BatchNormLayer(absl::string_view name, const ActivationShape& shape, bool relu,
                               ModelLayout& layout)
    : options_({.shape = shape}), relu_(relu), tensors_(name, shape.channels, layout) {}

void BatchNormLayer::Build(Device& device, bool /*input_gradient*/) {
  operation_ = device.MakeBatchNorm(options_, relu_);
  output_ = device.AllocateActivation(options_.shape.size());
}

const void* BatchNormLayer::Forward(const void* x, const ForwardPass& pass) {
  const float* scale = pass.parameters + tensors_.scale;
  const float* shift = pass.parameters + tensors_.shift;
  if (pass.evaluation_statistics != nullptr) {
    operation_->InferenceForward(x, scale, shift, pass.evaluation_statistics + tensors_.mean,
                                 pass.evaluation_statistics + tensors_.variance, output_->data());
  } else {
    operation_->TrainingForward(x, scale, shift, output_->data(), pass.running_statistics + tensors_.mean,
                                pass.running_statistics + tensors_.variance);
  }
  return output_->data();
}

void BatchNormLayer::Backward(const void* x, void* dy, void* dx, const BackwardPass& pass) {
  operation_->Backward(x, pass.parameters + tensors_.scale, pass.parameters + tensors_.shift, dy,
                       dx != nullptr ? dx : dy, pass.gradient + tensors_.scale,
                       pass.gradient + tensors_.shift);
  pass.ready(tensors_.scale);
}

void MaxPoolLayer::Build(Device& device, bool /*input_gradient*/) {
  operation_ = device.MakeMaxPool(shape_);
  output_ = device.AllocateActivation(output_shape().size());
}

const void* MaxPoolLayer::Forward(const void* x, const ForwardPass& /*pass*/) {
  operation_->Forward(x, output_->data());
  return output_->data();
}

void MaxPoolLayer::Backward(const void* /*x*/, void* dy, void* dx, const BackwardPass& /*pass*/) {
  if (dx != nullptr) operation_->Backward(dy, dx);
}

void GlobalAveragePoolLayer::Build(Device& device, bool /*input_gradient*/) {
  operation_ = device.MakeGlobalAveragePool(input_);
  output_ = device.AllocateActivation(output_shape().size());
}

const void* GlobalAveragePoolLayer::Forward(const void* x, const ForwardPass& /*pass*/) {
  operation_->Forward(x, output_->data());
  return output_->data();
}

void GlobalAveragePoolLayer::Backward(const void* /*x*/, void* dy, void* dx,
                                      const BackwardPass& /*pass*/) {
  if (dx != nullptr) operation_->Backward(dy, dx);
}

LinearLayer::LinearLayer(absl::string_view name, const ActivationShape& input, int64_t outputs,
                         ModelLayout& layout)
    : batch_(input.batch),
      inputs_(input.height * input.width * input.channels),
      outputs_(outputs),
      weight_(AddTensor(layout.parameters, name, ".weight", {outputs, inputs_})),
      bias_(AddTensor(layout.parameters, name, ".bias", {outputs})) {}

void LinearLayer::Build(Device& device, bool /*input_gradient*/) {
  operation_ = device.MakeLinear(batch_, inputs_, outputs_);
  output_ = device.memory().Allocate(batch_ * outputs_);
}

const void* LinearLayer::Forward(const void* x, const ForwardPass& pass) {
  operation_->Forward(x, pass.parameters + weight_, pass.parameters + bias_, output_->data());
  return output_->data();
}

void LinearLayer::Backward(const void* x, void* dy, void* dx, const BackwardPass& pass) {
  operation_->BackwardWeights(x, dy, pass.gradient + weight_, pass.gradient + bias_);
  pass.ready(weight_);
  if (dx != nullptr) operation_->BackwardData(pass.parameters + weight_, dy, dx);
}

}  // namespace ssd
