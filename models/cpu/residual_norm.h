// The end of a residual block: batch norm, shortcut and ReLU in one pass forward by plain loops, which oneDNN
// has no primitive for; backward by oneDNN.
#ifndef SSD_MODELS_CPU_RESIDUAL_NORM_H_
#define SSD_MODELS_CPU_RESIDUAL_NORM_H_

#include <optional>

#include "models/cpu/channel_affine.h"
#include "models/cpu/channel_moments.h"
#include "models/cpu/primitive.h"

namespace ssd {

// `runtime` outlives it.
class CpuResidualNorm final : public ResidualNorm {
 public:
  CpuResidualNorm(CpuRuntime& runtime, const BatchNormOptions& options, const ActivationShape& shortcut);

  void TrainingForward(const void* x, const void* s, const float* scale, const float* shift, void* y,
                       float* running_mean, float* running_variance) override;
  void InferenceForward(const void* x, const void* s, const float* scale, const float* shift,
                        const float* mean, const float* variance, void* y) override;
  void Backward(const void* x, const float* scale, const float* shift, const void* y, void* dy, void* dx,
                float* dscale, float* dshift) override;
  void AddShortcutGradient(const void* dy, void* ds) override;

 private:
  // y = max(0, factor x + offset + shortcut(s))
  void Apply(const float* x, const float* s, float* y);
  // The first float of row `row` of all the N * H rows of the output's grid, in the output and in the
  // shortcut.
  int64_t OutputRow(int64_t row) const { return row * shape_.width * shape_.channels; }
  int64_t ShortcutRow(int64_t row) const;

  const BatchNormOptions options_;
  const ActivationShape shape_;  // of x and y
  const ActivationShape shortcut_;
  int64_t stride_ = 1;
  int64_t channels_before_ = 0;  // channels of zeros before those of the shortcut
  ChannelMoments moments_;       // of the last training batch
  ChannelAffine affine_;
  std::optional<Primitive> mask_;  // the ReLU's backward
  std::optional<Primitive> backward_;
};

}  // namespace ssd

#endif  // SSD_MODELS_CPU_RESIDUAL_NORM_H_
