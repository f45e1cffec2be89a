// A factor and an offset for each channel: what batch norm is once the statistics are known.
//
//   factor = scale / sqrt(variance + epsilon)
//   offset = shift - mean factor
//
// In double, and rounded once where it is applied: as fast as memory, and the nearer a sum is to what it
// should be, the fewer ReLUs behind it go the wrong way.
#ifndef SSD_MODELS_CPU_CHANNEL_AFFINE_H_
#define SSD_MODELS_CPU_CHANNEL_AFFINE_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "models/operations.h"

namespace ssd {

// Not thread-safe. Uses the calling thread's number of OpenMP threads.
class ChannelAffine {
 public:
  explicit ChannelAffine(const BatchNormOptions& options)
      : options_(options), factor_(options.shape.channels), offset_(options.shape.channels) {}

  // From a value a channel of each; `mean` and `variance` may be doubles or floats.
  template <typename Statistics>
  void Set(const float* scale, const float* shift, const Statistics& mean, const Statistics& variance) {
    for (int64_t c = 0; c < options_.shape.channels; ++c) {
      factor_[c] = scale[c] / std::sqrt(variance[c] + options_.epsilon);
      offset_[c] = shift[c] - mean[c] * factor_[c];
    }
  }

  const double* factor() const { return factor_.data(); }
  const double* offset() const { return offset_.data(); }

  // y = factor x + offset
  void Apply(const float* x, float* y) const;

 private:
  const BatchNormOptions options_;
  std::vector<double> factor_;
  std::vector<double> offset_;
};

}  // namespace ssd

#endif  // SSD_MODELS_CPU_CHANNEL_AFFINE_H_
