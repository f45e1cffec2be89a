// Convolution by oneDNN, with weights in the layout that it likes best for each direction.
#ifndef SSD_MODELS_CPU_CONVOLUTION_H_
#define SSD_MODELS_CPU_CONVOLUTION_H_

#include <optional>

#include "models/cpu/primitive.h"

namespace ssd {

// oneDNN's three primitives of a convolution, described: which implementation, and in which layout of weights.
struct ConvolutionDescriptions {
  ConvolutionDescriptions(const CpuRuntime& runtime, const ConvolutionShape& shape, bool input_gradient);

  // Their arguments, for Run: x, weights, y; dy, weights, dx; x, dy, dweights. Weights are as the primitive likes them.
  Primitive MakeForward(CpuRuntime& runtime) const;
  Primitive MakeBackwardData(CpuRuntime& runtime) const;  // REQUIRES: input_gradient
  Primitive MakeBackwardWeights(CpuRuntime& runtime) const;

  dnnl::memory::desc x;
  dnnl::memory::desc y;
  dnnl::memory::desc plain_weights;  // as they lie in the flat vector
  dnnl::convolution_forward::primitive_desc forward;
  std::optional<dnnl::convolution_backward_data::primitive_desc> backward_data;  // with input_gradient
  dnnl::convolution_backward_weights::primitive_desc backward_weights;
};

// `runtime` outlives it.
class CpuConvolution final : public Convolution {
 public:
  CpuConvolution(CpuRuntime& runtime, const ConvolutionShape& shape, bool input_gradient);

  void Forward(const void* x, const float* weights, void* y) override;
  void BackwardData(const float* weights, const void* dy, void* dx) override;
  void BackwardWeights(const void* x, const void* dy, float* dweights) override;

 private:
  // A direction and the way its weights take into it or out of it.
  struct Direction {
    WeightReorder weights;
    Primitive primitive;
  };
  std::optional<Direction> forward_;
  std::optional<Direction> backward_data_;
  std::optional<Direction> backward_weights_;
};

}  // namespace ssd

#endif  // SSD_MODELS_CPU_CONVOLUTION_H_
