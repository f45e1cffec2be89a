// The operations as plain loops in double: what a device is held to. Written to be read, not to be fast.
#ifndef SSD_TESTS_MODELS_REFERENCE_H_
#define SSD_TESTS_MODELS_REFERENCE_H_

#include <vector>

#include "models/operations.h"

namespace ssd::reference {

struct ConvolutionResult {
  std::vector<double> y, dx, dweights;
};
ConvolutionResult Convolve(const ConvolutionShape& shape, const std::vector<float>& x,
                           const std::vector<float>& weights, const std::vector<float>& dy);

// One training pass, and the inference with the running statistics as they were before it.
class BatchNorm {
 public:
  explicit BatchNorm(const BatchNormOptions& options) : options_(options) {}

  void Run(const std::vector<float>& x, const std::vector<float>& scale, const std::vector<float>& shift,
           const std::vector<float>& dy, const std::vector<float>& mean, const std::vector<float>& variance);

  std::vector<double> y, inference, dx, dscale, dshift, running_mean, running_variance;

 private:
  void RunChannel(int64_t channel, const std::vector<float>& x, double scale, double shift,
                  const std::vector<float>& dy, double old_mean, double old_variance);

  const BatchNormOptions options_;
};

struct ResidualResult {
  std::vector<double> y, dy, dx;
};
// `dx`: what the shortcut's gradient is added to.
ResidualResult AddResidual(const ActivationShape& input, const ActivationShape& output,
                           const std::vector<float>& x, const std::vector<float>& branch,
                           const std::vector<float>& dy, const std::vector<float>& dx);

}  // namespace ssd::reference

#endif  // SSD_TESTS_MODELS_REFERENCE_H_
