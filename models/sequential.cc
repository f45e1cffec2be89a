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
      parameters_(device_->memory().Allocate(network_.layout.parameters.size())),
      buffers_(device_->memory().Allocate(network_.layout.buffers.size())),
      evaluation_buffers_(device_->memory().Allocate(network_.layout.buffers.size())),
      inputs_(network_.layers.size()) {
  device_->Enter();
  for (const auto& layer : network_.layers) {
    layer->Build(*device_, /*input_gradient=*/layer != network_.layers.front());
  }
  loss_ = device_->MakeSoftmaxCrossEntropy(output_shape_.batch, output_shape_.channels);
  for (auto& gradient : gradients_) gradient = device_->AllocateActivation(network_.gradient_floats());
}

const int32_t* Sequential::Forward(const Batch& batch, const ForwardPass& pass) {
  CHECK_EQ(static_cast<int64_t>(batch.images.size()), network_.input.size());
  CHECK_EQ(static_cast<int64_t>(batch.labels.size()), output_shape_.batch);
  device_->Enter();
  const Device::Input input = device_->Load(batch);
  device_->SetParameters(parameters_->values());
  const void* activation = input.images;
  for (size_t i = 0; i < network_.layers.size(); ++i) {
    inputs_[i] = activation;
    activation = network_.layers[i]->Forward(activation, pass);
  }
  logits_ = static_cast<const float*>(activation);
  return input.labels;
}

void Sequential::Train(const Batch& batch, std::span<float> gradient, GradientReady ready,
                       TrainingDone done) {
  CHECK_EQ(batch.valid, output_shape_.batch) << "a training batch has no padding";
  CHECK_EQ(static_cast<int64_t>(gradient.size()), parameters_->size());
  const int32_t* labels =
      Forward(batch, {.parameters = parameters_->data(), .running_statistics = buffers_->data()});
  loss_->Forward(logits_, labels, batch.valid);

  const std::span<float> written = device_->BeginGradient(gradient, std::move(ready));
  gradient_ = written;
  const auto announce = [this](int64_t first) { device_->GradientFinal(first); };
  const BackwardPass pass{.parameters = parameters_->data(),
                          .gradient = written.data(),
                          .scratch = gradients_[2]->data(),
                          .ready = announce};
  void* dy = gradients_[0]->data();
  void* dx = gradients_[1]->data();
  loss_->Backward(logits_, labels, dy);
  for (size_t i = network_.layers.size(); i-- > 0;) {
    network_.layers[i]->Backward(inputs_[i], dy, i > 0 ? dx : nullptr, pass);
    std::swap(dy, dx);
  }
  device_->EndGradient([this, done = std::move(done)]() mutable { done(loss_->Result()); });
}

BatchResult Sequential::Evaluate(const Batch& batch, std::span<const float> buffers) {
  CHECK_EQ(static_cast<int64_t>(buffers.size()), buffers_->size());
  device_->memory().Upload(buffers, evaluation_buffers_->data());
  const int32_t* labels = Forward(
      batch, {.parameters = parameters_->data(), .evaluation_statistics = evaluation_buffers_->data()});
  loss_->Forward(logits_, labels, batch.valid);
  return loss_->Result();
}

std::vector<float> Sequential::Logits() {
  std::vector<float> logits(output_shape_.size());
  device_->memory().Download(logits_, logits);
  return logits;
}

}  // namespace ssd
