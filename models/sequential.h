// A model that is a chain of layers, ending in softmax cross entropy.
#ifndef SSD_MODELS_SEQUENTIAL_H_
#define SSD_MODELS_SEQUENTIAL_H_

#include <array>
#include <memory>
#include <vector>

#include "models/layer.h"
#include "models/model.h"

namespace ssd {

// The layers, not yet built, and the tensors that they added. Costs no memory to speak of, so that a layout
// can be had of a model that nobody is going to run.
struct Network {
  ActivationShape input;
  ModelLayout layout = {};
  std::vector<std::unique_ptr<Layer>> layers = {};  // the last is a LinearLayer: the logits, (N, classes)

  // As large as the largest output: each of the three arrays that the gradients of activations take.
  int64_t gradient_floats() const;
  // All the memory that a training pass fills.
  int64_t activation_floats() const;
};

// Runs a Network on a device. See Model. Parameters and buffers are 0 at first.
class Sequential final : public Model {
 public:
  // Builds the layers. REQUIRES: the last layer is a LinearLayer.
  Sequential(Network network, std::unique_ptr<Device> device);

  const ModelLayout& layout() const override { return network_.layout; }
  std::span<float> parameters() override { return parameters_->values(); }
  std::span<float> buffers() override { return buffers_->values(); }
  std::span<const float> gradient() const override { return gradient_; }
  DeviceMemory& memory() override { return device_->memory(); }
  // REQUIRES: batch.valid is the batch size.
  void Train(const Batch& batch, std::span<float> gradient, GradientReady ready, TrainingDone done) override;
  BatchResult Evaluate(const Batch& batch, std::span<const float> buffers) override;

  // (N, classes), of the last pass.
  std::vector<float> Logits();

 private:
  // Returns the batch's labels on the device.
  const int32_t* Forward(const Batch& batch, const ForwardPass& pass);

  std::unique_ptr<Device> device_;  // outlives all below
  Network network_;
  const ActivationShape output_shape_;
  std::unique_ptr<SoftmaxCrossEntropy> loss_;
  std::unique_ptr<DeviceArray> parameters_;
  std::unique_ptr<DeviceArray> buffers_;
  std::unique_ptr<DeviceArray> evaluation_buffers_;
  std::span<const float> gradient_;  // of the last training pass
  std::vector<const void*> inputs_;  // of each layer in the pass under way
  const float* logits_ = nullptr;
  // The gradients of activations: a layer's dy and dx in turn, and scratch.
  std::array<std::unique_ptr<ActivationArray>, 3> gradients_;
};

}  // namespace ssd

#endif  // SSD_MODELS_SEQUENTIAL_H_
