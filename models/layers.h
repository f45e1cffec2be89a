// The layers with one operation each. Tensors are named as in torchvision: "<name>.weight", "<name>.bias".
#ifndef SSD_MODELS_LAYERS_H_
#define SSD_MODELS_LAYERS_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "common/parameter_layout.h"
#include "models/layer.h"

namespace ssd {

// Where batch norm's tensors lie in the flat vectors.
struct BatchNormTensors {
  // Adds them to the layout.
  BatchNormTensors(absl::string_view name, int64_t channels, ModelLayout& layout);

  int64_t scale;     // "<name>.weight", in the parameters
  int64_t shift;     // "<name>.bias", in the parameters
  int64_t mean;      // "<name>.running_mean", in the buffers
  int64_t variance;  // "<name>.running_var", in the buffers
};

// Without bias.
class ConvolutionLayer final : public Layer {
 public:
  ConvolutionLayer(absl::string_view name, const ConvolutionShape& shape, ModelLayout& layout);

  ActivationShape output_shape() const override { return shape_.output(); }
  void Build(Device& device, bool input_gradient) override;
  const void* Forward(const void* x, const ForwardPass& pass) override;
  void Backward(const void* x, void* dy, void* dx, const BackwardPass& pass) override;

 private:
  const ConvolutionShape shape_;
  const int64_t weight_;  // offset in the parameters, here and below
  std::unique_ptr<Convolution> operation_;
  std::unique_ptr<ActivationArray> output_;
};

class BatchNormLayer final : public Layer {
 public:
  // `relu`: with the ReLU that follows it. Backward's dx may be dy.
  BatchNormLayer(absl::string_view name, const ActivationShape& shape, bool relu, ModelLayout& layout);

  ActivationShape output_shape() const override { return options_.shape; }
  void Build(Device& device, bool input_gradient) override;
  const void* Forward(const void* x, const ForwardPass& pass) override;
  void Backward(const void* x, void* dy, void* dx, const BackwardPass& pass) override;

 private:
  const BatchNormOptions options_;
  const bool relu_;
  const BatchNormTensors tensors_;
  std::unique_ptr<BatchNorm> operation_;
  std::unique_ptr<ActivationArray> output_;
};

class MaxPoolLayer final : public Layer {
 public:
  explicit MaxPoolLayer(const PoolShape& shape) : shape_(shape) {}

  ActivationShape output_shape() const override { return shape_.output(); }
  void Build(Device& device, bool input_gradient) override;
  const void* Forward(const void* x, const ForwardPass& pass) override;
  void Backward(const void* x, void* dy, void* dx, const BackwardPass& pass) override;

 private:
  const PoolShape shape_;
  std::unique_ptr<MaxPool> operation_;
  std::unique_ptr<ActivationArray> output_;
};

class GlobalAveragePoolLayer final : public Layer {
 public:
  explicit GlobalAveragePoolLayer(const ActivationShape& input) : input_(input) {}

  ActivationShape output_shape() const override { return {input_.batch, 1, 1, input_.channels}; }
  void Build(Device& device, bool input_gradient) override;
  const void* Forward(const void* x, const ForwardPass& pass) override;
  void Backward(const void* x, void* dy, void* dx, const BackwardPass& pass) override;

 private:
  const ActivationShape input_;
  std::unique_ptr<GlobalAveragePool> operation_;
  std::unique_ptr<ActivationArray> output_;
};

// With bias. Takes height, width and channels as one dimension. Its output is float32: a network's logits.
class LinearLayer final : public Layer {
 public:
  LinearLayer(absl::string_view name, const ActivationShape& input, int64_t outputs, ModelLayout& layout);

  ActivationShape output_shape() const override { return {batch_, 1, 1, outputs_}; }
  void Build(Device& device, bool input_gradient) override;
  const void* Forward(const void* x, const ForwardPass& pass) override;
  void Backward(const void* x, void* dy, void* dx, const BackwardPass& pass) override;

 private:
  const int64_t batch_;
  const int64_t inputs_;
  const int64_t outputs_;
  const int64_t weight_;
  const int64_t bias_;
  std::unique_ptr<Linear> operation_;
  std::unique_ptr<DeviceArray> output_;
};

}  // namespace ssd

#endif  // SSD_MODELS_LAYERS_H_
