// The mean and the variance of each channel of an activation, in double.
//
// oneDNN's batch norm adds up thousands of floats one after the other; the error, some 1e-6 of an activation,
// is enough to send ReLUs the other way, and so moves a network's gradients by 1e-4. This pass is exact to
// the last bit of a float, and takes one reading of the activation where oneDNN's takes two.
#ifndef SSD_MODELS_CPU_CHANNEL_MOMENTS_H_
#define SSD_MODELS_CPU_CHANNEL_MOMENTS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace ssd {

// Not thread-safe. Uses the calling thread's number of OpenMP threads; the result does not depend on it.
class ChannelMoments {
 public:
  // Of arrays (rows, channels).
  ChannelMoments(int64_t rows, int64_t channels);

  // `mean` and `variance`, the biased one, have a value a channel.
  void Compute(const float* x, std::span<float> mean, std::span<float> variance);

 private:
  const int64_t rows_;
  const int64_t channels_;
  const int64_t chunks_;         // of rows, each summed by one thread
  std::vector<double> sums_;     // (chunks, channels)
  std::vector<double> squares_;  // (chunks, channels)
};

}  // namespace ssd

#endif  // SSD_MODELS_CPU_CHANNEL_MOMENTS_H_
