// The servers' update rule: momentum SGD in PyTorch's convention, on one block.
//
//   d = sum / n + lambda W;   v' = mu v + d;   W' = W - eta (nesterov ? d + mu v' : v')
//
// Pure functions over spans of one size, float32 throughout; inputs and outputs do not overlap.
#ifndef SSD_COMMON_OPTIMIZER_H_
#define SSD_COMMON_OPTIMIZER_H_

#include <span>

namespace ssd {

struct OptimizerOptions {
  double momentum = 0.9;    // mu
  double weight_decay = 0;  // lambda
  bool nesterov = false;
};

// A block's weights and velocity before an update, and where they go.
struct OptimizerState {
  std::span<const float> weights;
  std::span<const float> velocity;
  std::span<float> new_weights;
  std::span<float> new_velocity;
};

// One step with the mean of `count` gradients whose sum is `gradient_sum`.
void ApplyStep(const OptimizerOptions& options, double eta, std::span<const float> gradient_sum, int count,
               const OptimizerState& state);

// The steps of a period at once, with learning rates `etas`: d, made from the weights at the period's start,
// is held for all of them. In closed form one pass, as v_j = mu^j v + d (1 - mu^j) / (1 - mu). algorithm.md,
// push every_period.
void ApplyPeriod(const OptimizerOptions& options, std::span<const double> etas,
                 std::span<const float> gradient_sum, int count, const OptimizerState& state);

}  // namespace ssd

#endif  // SSD_COMMON_OPTIMIZER_H_
