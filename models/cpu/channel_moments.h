// The mean and the variance of each channel of an activation, summed in double.
//
// oneDNN's batch norm adds up thousands of floats one after the other; the error, some 1e-6 of an activation,
// is enough to send ReLUs the other way, and so moves a network's gradients by 1e-4. This pass has no error
// to speak of, and reads the activation once where oneDNN's reads it twice.
#ifndef SSD_MODELS_CPU_CHANNEL_MOMENTS_H_
#define SSD_MODELS_CPU_CHANNEL_MOMENTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "models/operations.h"

namespace ssd {

// Not thread-safe. Uses the calling thread's number of OpenMP threads; the result does not depend on it.
class ChannelMoments {
 public:
  explicit ChannelMoments(const ActivationShape& shape);

  void Compute(const float* x);

  // Of the last Compute, a value a channel. The variance is the biased one.
  std::span<const double> mean() const { return mean_; }
  std::span<const double> variance() const { return variance_; }
  const float* mean_as_float() const { return mean_as_float_.data(); }
  const float* variance_as_float() const { return variance_as_float_.data(); }

  // running = (1 - momentum) running + momentum batch, for the mean and the unbiased variance. See BatchNorm.
  void MoveRunning(float momentum, float* running_mean, float* running_variance) const;

 private:
  const int64_t channels_;
  const int64_t rows_;           // values a channel
  const int64_t chunks_;         // of rows, each summed by one thread
  std::vector<double> sums_;     // (chunks, channels)
  std::vector<double> squares_;  // (chunks, channels)
  std::vector<double> mean_;
  std::vector<double> variance_;
  std::vector<float> mean_as_float_;
  std::vector<float> variance_as_float_;
};

}  // namespace ssd

#endif  // SSD_MODELS_CPU_CHANNEL_MOMENTS_H_
