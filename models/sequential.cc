#include "models/sequential.h"

#include <algorithm>

#include "common/logging.h"

namespace ssd {

int64_t Network::gradient_floats() const {
  int64_t largest = 0;
  for (const auto& layer : layers) largest = std::max(largest, layer->output_shape().size());
  return largest;
}

int64_t Network::activation_floats() const {
  int64_t floats = 3 * gradient_floats();
  for (const auto& layer : layers) floats += layer->activation_floats();
  return floats;
}

Sequential::Sequential(Network network, std::unique_ptr<Device> device)
    : device_(std::move(device)),
      network_(std::move(network)),
      output_shape_(network_.layers.back()->output_shape()),
      parameters_(network_.layout.parameters.size()),
      buffers_(network_.layout.buffers.size()),
      inputs_(network_.layers.size()) {
  device_->Enter();
  for (const auto& layer : network_.layers) {
    layer->Build(*device_, /*input_gradient=*/layer != network_.layers.front());
  }
  loss_ = device_->MakeSoftmaxCrossEntropy(output_shape_.batch, output_shape_.channels);
  for (auto& gradient : gradients_) gradient = device_->memory().Allocate(network_.gradient_floats());
}

void Sequential::Forward(const Batch& batch, const ForwardPass& pass) {
  CHECK_EQ(static_cast<int64_t>(batch.images.size()), network_.input.size());
  device_->Enter();
  const float* activation = batch.images.data();
  for (size_t i = 0; i < network_.layers.size(); ++i) {
    inputs_[i] = activation;
    activation = network_.layers[i]->Forward(activation, pass);
  }
  logits_ = activation;
}

BatchResult Sequential::Train(const Batch& batch, std::span<float> gradient, GradientReady ready) {
  CHECK_EQ(batch.valid, output_shape_.batch) << "a training batch has no padding";
  CHECK_EQ(gradient.size(), parameters_.size());
  gradient_ = gradient;
  Forward(batch, {.parameters = parameters_.data(), .running_statistics = buffers_.data()});
  const BatchResult result = loss_->Forward(logits_, batch.labels, batch.valid);

  const BackwardPass pass{.parameters = parameters_.data(),
                          .gradient = gradient.data(),
                          .scratch = gradients_[2]->data(),
                          .ready = ready};
  float* dy = gradients_[0]->data();
  float* dx = gradients_[1]->data();
  loss_->Backward(logits_, batch.labels, dy);
  for (size_t i = network_.layers.size(); i-- > 0;) {
    network_.layers[i]->Backward(inputs_[i], dy, i > 0 ? dx : nullptr, pass);
    std::swap(dy, dx);
  }
  return result;
}

BatchResult Sequential::Evaluate(const Batch& batch, std::span<const float> buffers) {
  CHECK_EQ(buffers.size(), buffers_.size());
  Forward(batch, {.parameters = parameters_.data(), .evaluation_statistics = buffers.data()});
  return loss_->Forward(logits_, batch.labels, batch.valid);
}

}  // namespace ssd
