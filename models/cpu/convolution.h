// Convolution by oneDNN, with weights in the layout that it likes best for each direction.
#ifndef SSD_MODELS_CPU_CONVOLUTION_H_
#define SSD_MODELS_CPU_CONVOLUTION_H_

#include <optional>

#include "models/cpu/primitive.h"

namespace ssd {

// `runtime` outlives it.
class CpuConvolution final : public Convolution {
 public:
  CpuConvolution(CpuRuntime& runtime, const ConvolutionShape& shape, bool input_gradient);

  void Forward(const float* x, const float* weights, float* y) override;
  void BackwardData(const float* weights, const float* dy, float* dx) override;
  void BackwardWeights(const float* x, const float* dy, float* dweights) override;

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
