// The learning rate as a pure function of the step: eta(t) = base * f(t) * ramp(t).
#ifndef SSD_COMMON_LEARNING_RATE_H_
#define SSD_COMMON_LEARNING_RATE_H_

#include <cstdint>
#include <vector>

#include "common/types.h"

namespace ssd {

struct LearningRateOptions {
  enum class Schedule {
    kConstant,    // f = 1
    kStep,        // f = gamma^(milestones passed); a milestone m is passed when t >= m
    kCosine,      // f = final_fraction + (1 - final_fraction) (1 + cos(pi t / T)) / 2
    kPolynomial,  // f = (1 - t / T)^power
  };

  double base = 0.1;
  Schedule schedule = Schedule::kConstant;
  std::vector<Step> milestones;
  double gamma = 0.1;
  double final_fraction = 0;
  double power = 2;
  int64_t ramp_steps = 0;   // ramp = min(1, (t + 1) / ramp_steps): never 0
  int64_t total_steps = 1;  // T
};

// Immutable, so thread-safe.
class LearningRate {
 public:
  explicit LearningRate(LearningRateOptions options);

  // eta of `step`, for step >= 0.
  double At(Step step) const;

 private:
  const LearningRateOptions options_;
};

}  // namespace ssd

#endif  // SSD_COMMON_LEARNING_RATE_H_
