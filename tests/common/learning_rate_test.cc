#include "common/learning_rate.h"

#include <vector>

namespace ssd {
namespace {

using Schedule = LearningRateOptions::Schedule;

constexpr double kTolerance = 1e-12;

std::vector<double> First(const LearningRateOptions& options, int64_t steps) {
  const LearningRate rate(options);
  std::vector<double> values;
  for (Step step(0); step < Step(steps); ++step) values.push_back(rate.At(step));
  return values;
}

void ExpectNear(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], kTolerance) << "step " << i;
}

TEST(LearningRateTest, ConstantStays) {
  ExpectNear(First({.base = 0.4, .total_steps = 3}, 3), {0.4, 0.4, 0.4});
}

TEST(LearningRateTest, RampRisesLinearlyAndIsNeverZero) {
  ExpectNear(First({.base = 0.4, .ramp_steps = 4, .total_steps = 6}, 6), {0.1, 0.2, 0.3, 0.4, 0.4, 0.4});
}

TEST(LearningRateTest, StepFallsAtEachMilestoneItself) {
  ExpectNear(First({.base = 1,
                    .schedule = Schedule::kStep,
                    .milestones = {Step(2), Step(4)},
                    .gamma = 0.1,
                    .total_steps = 6},
                   6),
             {1, 1, 0.1, 0.1, 0.01, 0.01});
}

TEST(LearningRateTest, StepWithARampMultipliesBoth) {
  ExpectNear(First({.base = 1,
                    .schedule = Schedule::kStep,
                    .milestones = {Step(1)},
                    .gamma = 0.5,
                    .ramp_steps = 2,
                    .total_steps = 3},
                   3),
             {0.5, 0.5, 0.5});
}

TEST(LearningRateTest, CosineFallsFromOneTowardsTheFinalFraction) {
  // 0.2 + 0.8 (1 + cos(pi t / 4)) / 2: at t = 0, 1, 2, 3, 4.
  ExpectNear(First({.base = 2, .schedule = Schedule::kCosine, .final_fraction = 0.2, .total_steps = 4}, 5),
             {2, 2 * 0.8828427124746190, 2 * 0.6, 2 * 0.3171572875253810, 2 * 0.2});
}

TEST(LearningRateTest, CosineWithARamp) {
  ExpectNear(First({.base = 1, .schedule = Schedule::kCosine, .ramp_steps = 2, .total_steps = 2}, 2),
             {0.5, 0.5});
}

TEST(LearningRateTest, PolynomialFallsByItsPower) {
  ExpectNear(First({.base = 1, .schedule = Schedule::kPolynomial, .power = 2, .total_steps = 4}, 4),
             {1, 0.5625, 0.25, 0.0625});
  ExpectNear(First({.base = 3, .schedule = Schedule::kPolynomial, .power = 0, .total_steps = 2}, 2), {3, 3});
}

TEST(LearningRateTest, PolynomialWithARamp) {
  ExpectNear(
      First({.base = 1, .schedule = Schedule::kPolynomial, .power = 1, .ramp_steps = 3, .total_steps = 4}, 4),
      {1.0 / 3, 0.75 * 2 / 3, 0.5, 0.25});
}

TEST(LearningRateTest, NoScheduleIsZeroInTheRampOrBeforeTheEnd) {
  for (Schedule schedule : {Schedule::kConstant, Schedule::kStep, Schedule::kCosine, Schedule::kPolynomial}) {
    for (double rate : First(
             {.base = 0.1, .schedule = schedule, .milestones = {Step(5)}, .ramp_steps = 8, .total_steps = 20},
             20)) {
      EXPECT_GT(rate, 0);
    }
  }
}

}  // namespace
}  // namespace ssd
