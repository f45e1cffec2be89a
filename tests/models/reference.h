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

// One training pass of batch norm, and the inference with the running statistics as they were before it.
struct BatchNormResult {
  std::vector<double> y, inference, dx, dscale, dshift, running_mean, running_variance;
};
struct BatchNormInput {
  std::vector<float> x, scale, shift, dy, running_mean, running_variance;
};
BatchNormResult BatchNorm(const BatchNormOptions& options, bool relu, const BatchNormInput& input);

// The shortcut's output, (N, H, W, C) of `output`, and what AddShortcutGradient adds, of `dy`.
std::vector<double> Shortcut(const ActivationShape& input, const ActivationShape& output,
                             const std::vector<float>& s);
std::vector<double> ShortcutGradient(const ActivationShape& input, const ActivationShape& output,
                                     const std::vector<float>& dy);

struct MaxPoolResult {
  std::vector<double> y, dx;
};
MaxPoolResult MaxPool(const PoolShape& shape, const std::vector<float>& x, const std::vector<float>& dy);

}  // namespace ssd::reference

#endif  // SSD_TESTS_MODELS_REFERENCE_H_
