// Batch norm by oneDNN, with the ReLU fused where asked; the batch's statistics by ChannelMoments. Without a
// ReLU it is a shortcut's, and joins the end of a residual block: its training pass is ChannelAffine's, as
// the end is.
#ifndef SSD_MODELS_CPU_BATCH_NORM_H_
#define SSD_MODELS_CPU_BATCH_NORM_H_

#include <memory>
#include <optional>

#include "models/cpu/channel_affine.h"
#include "models/cpu/channel_moments.h"
#include "models/cpu/primitive.h"

namespace ssd {

// `runtime` outlives it.
class CpuBatchNorm final : public BatchNorm {
 public:
  CpuBatchNorm(CpuRuntime& runtime, const BatchNormOptions& options, bool relu);

  void TrainingForward(const void* x, const float* scale, const float* shift, void* y, float* running_mean,
                       float* running_variance) override;
  void InferenceForward(const void* x, const float* scale, const float* shift, const float* mean,
                        const float* variance, void* y) override;
  void Backward(const void* x, const float* scale, const float* shift, const void* dy, void* dx,
                float* dscale, float* dshift) override;

 private:
  const BatchNormOptions options_;
  ChannelMoments moments_;                   // of the last training batch
  ChannelAffine affine_;                     // without a ReLU
  std::unique_ptr<AlignedArray> workspace_;  // which outputs the ReLU let pass; null without one
  std::optional<Primitive> training_;        // with a ReLU
  std::optional<Primitive> inference_;
  std::optional<Primitive> backward_;
};

}  // namespace ssd

#endif  // SSD_MODELS_CPU_BATCH_NORM_H_
