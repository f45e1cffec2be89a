// The basic block of a residual network (He et al. 2015), with shortcut A:
//
//   x -> conv1 3x3 -> bn1, ReLU -> conv2 3x3 -> bn2 -> add -> ReLU -> y
//    \------------- identity, or subsampling and zeros -----^
#ifndef SSD_MODELS_BASIC_BLOCK_H_
#define SSD_MODELS_BASIC_BLOCK_H_

#include <memory>

#include "models/layers.h"

namespace ssd {

class BasicBlock final : public Layer {
 public:
  // The stride sits on conv1. REQUIRES: outputs >= input.channels.
  BasicBlock(absl::string_view name, const ActivationShape& input, int64_t outputs, int64_t stride,
             ModelLayout& layout);

  ActivationShape output_shape() const override { return conv2_.output_shape(); }
  void Build(Device& device, bool input_gradient) override;
  const float* Forward(const float* x, const ForwardPass& pass) override;
  void Backward(const float* x, float* dy, float* dx, const BackwardPass& pass) override;

 private:
  const ActivationShape input_;
  // In forward order, in which they add their tensors.
  ConvolutionLayer conv1_;
  BatchNormLayer bn1_;
  ConvolutionLayer conv2_;
  const BatchNormTensors bn2_;
  std::unique_ptr<ResidualNorm> end_;  // bn2, shortcut and ReLU
  std::unique_ptr<DeviceArray> output_;
  // Of the last forward pass, for backward.
  const float* conv1_output_ = nullptr;
  const float* bn1_output_ = nullptr;
  const float* conv2_output_ = nullptr;
};

}  // namespace ssd

#endif  // SSD_MODELS_BASIC_BLOCK_H_
