#include "common/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace ssd {

LearningRate::LearningRate(LearningRateOptions options) : options_(std::move(options)) {}

double LearningRate::At(Step step) const {
  const LearningRateOptions& o = options_;
  const double progress =
      std::min(1.0, static_cast<double>(step.value()) / static_cast<double>(o.total_steps));
  double factor = 1;
  switch (o.schedule) {
    case LearningRateOptions::Schedule::kConstant:
      break;
    case LearningRateOptions::Schedule::kStep:
      for (Step milestone : o.milestones) {
        if (step >= milestone) factor *= o.gamma;
      }
      break;
    case LearningRateOptions::Schedule::kCosine:
      factor = o.final_fraction + (1 - o.final_fraction) * (1 + std::cos(std::numbers::pi * progress)) / 2;
      break;
    case LearningRateOptions::Schedule::kPolynomial:
      factor = std::pow(1 - progress, o.power);
      break;
  }
  if (step.value() < o.ramp_steps) {
    factor *= static_cast<double>(step.value() + 1) / static_cast<double>(o.ramp_steps);
  }
  return o.base * factor;
}

}  // namespace ssd
