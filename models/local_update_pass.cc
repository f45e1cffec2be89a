#include "models/local_update_pass.h"

#include <cstddef>

namespace ssd {
namespace {

// The loops work on copies of the numbers and on pointers that do not alias, so that compilers vectorise them; what is
// decided once a call is a template's argument.
template <bool kNesterov>
void Momentum(const LocalStep step, const float* __restrict g, float* __restrict u, float* __restrict x,
              size_t size) {
  for (size_t i = 0; i < size; ++i) {
    const float d = g[i] + step.lambda * x[i];
    const float velocity = step.mu * u[i] + d;
    u[i] = velocity;
    x[i] -= step.rate * (kNesterov ? d + step.mu * velocity : velocity);
  }
}

template <bool kRenew>
void GluPrototype(const LocalStep step, const float* __restrict g, float* __restrict snapshot,
                  float* __restrict x, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    const float move = step.alpha * g[i] + step.beta * (snapshot[i] - x[i]) + step.lambda * x[i];
    x[i] -= step.rate * move;
    if (kRenew) snapshot[i] = x[i];
  }
}

}  // namespace

void SgdPass(const LocalStep& numbers, std::span<const float> gradient, std::span<float> weights) {
  const LocalStep step = numbers;
  const float* __restrict g = gradient.data();
  float* __restrict x = weights.data();
  for (size_t i = 0; i < weights.size(); ++i) x[i] -= step.rate * (step.alpha * g[i] + step.lambda * x[i]);
}

void GluPass(const LocalStep& numbers, std::span<const float> gradient,
             std::span<const float> global_gradient, std::span<float> weights) {
  const LocalStep step = numbers;
  const float* __restrict g = gradient.data();
  const float* __restrict global = global_gradient.data();
  float* __restrict x = weights.data();
  for (size_t i = 0; i < weights.size(); ++i) {
    x[i] -= step.rate * (step.alpha * g[i] + step.beta * global[i] + step.lambda * x[i]);
  }
}

void MomentumPass(const LocalStep& step, std::span<const float> g, std::span<float> u, std::span<float> x) {
  if (step.nesterov) return Momentum<true>(step, g.data(), u.data(), x.data(), x.size());
  Momentum<false>(step, g.data(), u.data(), x.data(), x.size());
}

void AccumulatePass(const LocalStep& numbers, std::span<const float> gradient, std::span<const float> weights,
                    std::span<float> velocity) {
  const LocalStep step = numbers;
  const float* __restrict g = gradient.data();
  const float* __restrict x = weights.data();
  float* __restrict u = velocity.data();
  for (size_t i = 0; i < velocity.size(); ++i) u[i] = step.mu * u[i] + (g[i] + step.lambda * x[i]);
}

void GluMomentumPass(const LocalStep& numbers, std::span<const float> gradient, std::span<float> velocity,
                     std::span<float> weights) {
  const LocalStep step = numbers;
  const float* __restrict g = gradient.data();
  float* __restrict v = velocity.data();
  float* __restrict x = weights.data();
  for (size_t i = 0; i < weights.size(); ++i) {
    v[i] = step.mu * v[i] + step.alpha * g[i] + step.lambda * x[i];
    x[i] -= step.rate * v[i];
  }
}

void GluPrototypePass(const LocalStep& step, bool renew, std::span<const float> g, std::span<float> snapshot,
                      std::span<float> x) {
  if (renew) return GluPrototype<true>(step, g.data(), snapshot.data(), x.data(), x.size());
  GluPrototype<false>(step, g.data(), snapshot.data(), x.data(), x.size());
}

void DcLocalPass(const LocalStep& numbers, std::span<const float> gradient,
                 std::span<const float> last_pulled, std::span<float> weights) {
  const LocalStep step = numbers;
  const float* __restrict g = gradient.data();
  const float* __restrict last = last_pulled.data();
  float* __restrict x = weights.data();
  for (size_t i = 0; i < weights.size(); ++i) {
    const float compensation = step.dc_lambda * g[i] * g[i] * (x[i] - last[i]);
    x[i] -= step.rate * (step.alpha * g[i] + compensation + step.lambda * x[i]);
  }
}

void InstallDifferencePass(float inverse_passed, std::span<const float> last_pulled,
                           std::span<const float> pulled_weights, std::span<float> difference,
                           std::span<float> weights) {
  const float* __restrict last = last_pulled.data();
  const float* __restrict pulled = pulled_weights.data();
  float* __restrict to = difference.data();
  float* __restrict x = weights.data();
  for (size_t i = 0; i < weights.size(); ++i) {
    to[i] = (last[i] - pulled[i]) * inverse_passed;
    x[i] = pulled[i];
  }
}

void InstallCorrectionPass(float inverse_passed, std::span<const float> pulled_weights,
                           std::span<float> velocity, std::span<float> weights) {
  const float* __restrict pulled = pulled_weights.data();
  float* __restrict u = velocity.data();
  float* __restrict x = weights.data();
  for (size_t i = 0; i < weights.size(); ++i) {
    u[i] += (x[i] - pulled[i]) * inverse_passed;
    x[i] = pulled[i];
  }
}

}  // namespace ssd
