// A block of a residual network (He et al. 2015): a branch of convolutions, and a shortcut around it.
//
//   x -> conv1 -> bn1, ReLU -> ... -> convL -> bnL -> add -> ReLU -> y
//    \------------------- shortcut --------------------^
//
//   basic        conv1 3x3 with the stride, conv2 3x3
//   bottleneck   conv1 1x1, conv2 3x3 with the stride, conv3 1x1 to four times the channels; this is called
//                v1.5, the paper has the stride on conv1
//
// Between equal shapes the shortcut is the identity; else what ResNetSpec::Shortcut says. Tensors are named
// and ordered as in torchvision: "<name>.conv1.weight", "<name>.bn1.weight", ..., and last those of a
// projection, "<name>.downsample.0.weight" (convolution) and "<name>.downsample.1.weight" (batch norm), ...
#ifndef SSD_MODELS_RESIDUAL_BLOCK_H_
#define SSD_MODELS_RESIDUAL_BLOCK_H_

#include <memory>
#include <optional>
#include <vector>

#include "common/resnet_spec.h"
#include "models/layers.h"

namespace ssd {

class ResidualBlock final : public Layer {
 public:
  // One of the branch; padded so that with stride 1 it keeps the shape.
  struct BranchConvolution {
    int64_t kernel;  // odd
    int64_t outputs;
    int64_t stride;
  };

  // REQUIRES: at least one convolution; inside the branch nothing is larger than both the input and the
  // output. kPadded: as many output channels as input channels, or more.
  ResidualBlock(absl::string_view name, const ActivationShape& input,
                const std::vector<BranchConvolution>& branch, ResNetSpec::Shortcut shortcut,
                ModelLayout& layout);

  ActivationShape output_shape() const override { return output_shape_; }
  int64_t activation_floats() const override;
  void Build(Device& device, bool input_gradient) override;
  const void* Forward(const void* x, const ForwardPass& pass) override;
  void Backward(const void* x, void* dy, void* dx, const BackwardPass& pass) override;

 private:
  struct Projection {
    ConvolutionLayer convolution;
    BatchNormLayer norm;
    const void* convolved = nullptr;  // of the last forward pass, for backward
  };

  const ActivationShape input_;
  std::vector<std::unique_ptr<Layer>> branch_;  // up to the last convolution
  std::vector<const void*>
      branch_inputs_;  // of the last forward pass, for backward; then the branch's output
  ActivationShape output_shape_;
  std::optional<BatchNormTensors> last_norm_;
  std::unique_ptr<ResidualNorm> end_;  // the last norm, the sum and the ReLU
  std::unique_ptr<ActivationArray> output_;
  std::optional<Projection> projection_;
  std::unique_ptr<Accumulation> sum_;  // of the two gradients of x; with a projection
};

// REQUIRES: kPadded: outputs >= input.channels.
std::unique_ptr<ResidualBlock> MakeBasicBlock(absl::string_view name, const ActivationShape& input,
                                              int64_t outputs, int64_t stride, ResNetSpec::Shortcut shortcut,
                                              ModelLayout& layout);

// `inner`: channels of the first two convolutions; the output has ResNetSpec::kExpansion times as many.
// REQUIRES: kPadded: no fewer than the input.
std::unique_ptr<ResidualBlock> MakeBottleneckBlock(absl::string_view name, const ActivationShape& input,
                                                   int64_t inner, int64_t stride,
                                                   ResNetSpec::Shortcut shortcut, ModelLayout& layout);

}  // namespace ssd

#endif  // SSD_MODELS_RESIDUAL_BLOCK_H_
