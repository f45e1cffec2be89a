#include "common/optimizer.h"

#include <cstddef>

namespace ssd {

void ApplyStep(const OptimizerOptions& options, double eta, std::span<const float> gradient_sum, int count,
               const OptimizerState& state) {
  const float n = static_cast<float>(count), mu = static_cast<float>(options.momentum);
  const float lambda = static_cast<float>(options.weight_decay), rate = static_cast<float>(eta);
  const float* __restrict sum = gradient_sum.data();
  const float* __restrict weights = state.weights.data();
  const float* __restrict velocity = state.velocity.data();
  float* __restrict new_weights = state.new_weights.data();
  float* __restrict new_velocity = state.new_velocity.data();
  const size_t size = gradient_sum.size();
  if (options.nesterov) {
    for (size_t i = 0; i < size; ++i) {
      const float d = sum[i] / n + lambda * weights[i];
      const float v = mu * velocity[i] + d;
      new_velocity[i] = v;
      new_weights[i] = weights[i] - rate * (d + mu * v);
    }
  } else {
    for (size_t i = 0; i < size; ++i) {
      const float v = mu * velocity[i] + (sum[i] / n + lambda * weights[i]);
      new_velocity[i] = v;
      new_weights[i] = weights[i] - rate * v;
    }
  }
}

void ApplyPeriod(const OptimizerOptions& options, std::span<const double> etas,
                 std::span<const float> gradient_sum, int count, const OptimizerState& state) {
  // v_j = v_weight v + d_weight d after j steps; the weights move by move_v v + move_d d over the whole
  // period.
  const double mu = options.momentum;
  double v_weight = 1, d_weight = 0, move_v = 0, move_d = 0;
  for (double eta : etas) {
    v_weight = mu * v_weight;
    d_weight = mu * d_weight + 1;
    move_v += eta * (options.nesterov ? mu * v_weight : v_weight);
    move_d += eta * (options.nesterov ? 1 + mu * d_weight : d_weight);
  }
  const float n = static_cast<float>(count), lambda = static_cast<float>(options.weight_decay);
  const float a = static_cast<float>(v_weight), b = static_cast<float>(d_weight);
  const float p = static_cast<float>(move_v), q = static_cast<float>(move_d);
  const float* __restrict sum = gradient_sum.data();
  const float* __restrict weights = state.weights.data();
  const float* __restrict velocity = state.velocity.data();
  float* __restrict new_weights = state.new_weights.data();
  float* __restrict new_velocity = state.new_velocity.data();
  for (size_t i = 0; i < gradient_sum.size(); ++i) {
    const float d = sum[i] / n + lambda * weights[i];
    new_velocity[i] = a * velocity[i] + b * d;
    new_weights[i] = weights[i] - (p * velocity[i] + q * d);
  }
}

}  // namespace ssd
