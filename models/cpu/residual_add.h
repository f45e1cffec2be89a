// The end of a residual block: identity shortcuts by oneDNN, which uses all threads; shortcut A by plain
// loops.
#ifndef SSD_MODELS_CPU_RESIDUAL_ADD_H_
#define SSD_MODELS_CPU_RESIDUAL_ADD_H_

#include <optional>

#include "models/cpu/primitive.h"

namespace ssd {

// `runtime` outlives it.
class CpuResidualAdd final : public ResidualAdd {
 public:
  CpuResidualAdd(CpuRuntime& runtime, const ActivationShape& input, const ActivationShape& output);

  void Forward(const float* x, float* y) override;
  void Backward(const float* y, float* dy) override;
  void AddShortcutGradient(const float* dy, float* dx) override;

 private:
  // Where position (n, h, w) of the output's grid lies, in floats from the input's and the output's start.
  int64_t InputOffset(int64_t n, int64_t h, int64_t w) const;
  int64_t OutputOffset(int64_t n, int64_t h, int64_t w) const;

  const ActivationShape input_;
  const ActivationShape output_;
  int64_t stride_ = 1;
  int64_t channels_before_ = 0;        // channels of zeros before those of the input
  std::optional<Primitive> add_relu_;  // identity only
  std::optional<Primitive> add_;       // identity only
  std::optional<Primitive> mask_;      // the ReLU's backward
};

}  // namespace ssd

#endif  // SSD_MODELS_CPU_RESIDUAL_ADD_H_
