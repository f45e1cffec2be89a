// A fully connected layer by oneDNN's inner product.
#ifndef SSD_MODELS_CPU_LINEAR_H_
#define SSD_MODELS_CPU_LINEAR_H_

#include <optional>

#include "models/cpu/primitive.h"

namespace ssd {

// `runtime` outlives it.
class CpuLinear final : public Linear {
 public:
  CpuLinear(CpuRuntime& runtime, int64_t batch, int64_t inputs, int64_t outputs);

  void Forward(const void* x, const float* weights, const float* bias, float* y) override {
    forward_->Run({x, weights, bias, y});
  }
  void BackwardData(const float* weights, const void* dy, void* dx) override {
    backward_data_->Run({dy, weights, dx});
  }
  void BackwardWeights(const void* x, const void* dy, float* dweights, float* dbias) override {
    backward_weights_->Run({x, dy, dweights, dbias});
  }

 private:
  std::optional<Primitive> forward_;
  std::optional<Primitive> backward_data_;
  std::optional<Primitive> backward_weights_;
};

}  // namespace ssd

#endif  // SSD_MODELS_CPU_LINEAR_H_
