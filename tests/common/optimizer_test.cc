#include "common/optimizer.h"

#include <cmath>
#include <vector>

#include "tests/testing/deterministic.h"

namespace ssd {
namespace {

using testing::Deterministic;

using Floats = std::vector<float>;
using ::testing::ElementsAre;
using ::testing::FloatEq;

// A block and where its update goes.
struct State {
  Floats weights, velocity;
  Floats new_weights = Floats(weights.size()), new_velocity = Floats(weights.size());

  OptimizerState view() {
    return {
        .weights = weights, .velocity = velocity, .new_weights = new_weights, .new_velocity = new_velocity};
  }
};

TEST(OptimizerTest, StepByHand) {
  State state{.weights = {1, 2}, .velocity = {0.5, -1}};
  ApplyStep({.momentum = 0.5, .weight_decay = 0.25}, /*eta=*/0.5, Floats{2, -1}, /*count=*/1, state.view());
  // d = {2 + 0.25, -1 + 0.5};  v' = {0.25 + 2.25, -0.5 - 0.5};  W' = W - 0.5 v'.
  EXPECT_THAT(state.new_velocity, ElementsAre(2.5f, -1.0f));
  EXPECT_THAT(state.new_weights, ElementsAre(-0.25f, 2.5f));
}

TEST(OptimizerTest, NesterovStepByHand) {
  State state{.weights = {1, 2}, .velocity = {0.5, -1}};
  ApplyStep({.momentum = 0.5, .weight_decay = 0.25, .nesterov = true}, /*eta=*/0.5, Floats{2, -1},
            /*count=*/1, state.view());
  // W' = W - 0.5 (d + 0.5 v') = {1 - 0.5 (2.25 + 1.25), 2 - 0.5 (-0.5 - 0.5)}.
  EXPECT_THAT(state.new_velocity, ElementsAre(2.5f, -1.0f));
  EXPECT_THAT(state.new_weights, ElementsAre(-0.75f, 2.5f));
}

TEST(OptimizerTest, SumOfThreeGradientsIsDividedByThree) {
  State state{.weights = {1}, .velocity = {0}};
  ApplyStep({.momentum = 0.9}, /*eta=*/1, Floats{6}, /*count=*/3, state.view());
  EXPECT_THAT(state.new_weights, ElementsAre(-1.0f));
  EXPECT_THAT(state.new_velocity, ElementsAre(2.0f));
}

TEST(OptimizerTest, InputsStayAsTheyAre) {
  State state{.weights = {1, 2}, .velocity = {3, 4}};
  const Floats sum = {5, 6};
  ApplyStep({}, 0.1, sum, 2, state.view());
  ApplyPeriod({}, std::vector<double>{0.1, 0.2}, sum, 2, state.view());
  EXPECT_THAT(state.weights, ElementsAre(1, 2));
  EXPECT_THAT(state.velocity, ElementsAre(3, 4));
  EXPECT_THAT(sum, ElementsAre(5, 6));
}

TEST(OptimizerTest, PeriodOfTwoByHand) {
  State state{.weights = {2}, .velocity = {1}};
  ApplyPeriod({.momentum = 0.5, .weight_decay = 0.5}, std::vector<double>{1, 0.5}, Floats{2}, /*count=*/2,
              state.view());
  // d = 1 + 1 = 2, held.  v = 2.5, then 3.25;  W = 2 - 2.5 - 1.625.
  EXPECT_THAT(state.new_velocity, ElementsAre(FloatEq(3.25f)));
  EXPECT_THAT(state.new_weights, ElementsAre(FloatEq(-2.125f)));
}

TEST(OptimizerTest, PeriodOfOneIsAStep) {
  for (bool nesterov : {false, true}) {
    State step{.weights = {2}, .velocity = {1}}, period = step;
    const OptimizerOptions options{.momentum = 0.5, .weight_decay = 0.25, .nesterov = nesterov};
    ApplyStep(options, 0.5, Floats{4}, 2, step.view());
    ApplyPeriod(options, std::vector<double>{0.5}, Floats{4}, 2, period.view());
    EXPECT_THAT(period.new_weights, ElementsAre(FloatEq(step.new_weights[0])));
    EXPECT_THAT(period.new_velocity, ElementsAre(FloatEq(step.new_velocity[0])));
  }
}

// The steps of a period one after the other, in double.
void PeriodInDouble(const OptimizerOptions& options, const std::vector<double>& etas, double d,
                    double& weight, double& velocity) {
  for (double eta : etas) {
    velocity = options.momentum * velocity + d;
    weight -= eta * (options.nesterov ? d + options.momentum * velocity : velocity);
  }
}

TEST(OptimizerTest, PeriodInClosedFormEqualsItsStepsInDouble) {
  constexpr int kSize = 64;
  const std::vector<double> numbers = Deterministic("optimizer", 3 * kSize);
  for (bool nesterov : {false, true}) {
    for (int count : {1, 3}) {
      for (int64_t k : {1, 2, 4, 7}) {
        std::vector<double> etas;
        for (int64_t j = 0; j < k; ++j) etas.push_back(0.1 / static_cast<double>(j + 1));
        const OptimizerOptions options{.momentum = 0.9, .weight_decay = 1e-2, .nesterov = nesterov};
        State state{.weights = Floats(numbers.begin(), numbers.begin() + kSize),
                    .velocity = Floats(numbers.begin() + kSize, numbers.begin() + 2 * kSize)};
        const Floats sum(numbers.begin() + 2 * kSize, numbers.end());
        ApplyPeriod(options, etas, sum, count, state.view());
        for (int i = 0; i < kSize; ++i) {
          double weight = state.weights[i], velocity = state.velocity[i];
          const double d = static_cast<double>(sum[i]) / count + options.weight_decay * weight;
          PeriodInDouble(options, etas, d, weight, velocity);
          const double scale = 1 + std::abs(weight) + std::abs(velocity);
          ASSERT_NEAR(state.new_weights[i], weight, 1e-6 * scale) << "k " << k << " coordinate " << i;
          ASSERT_NEAR(state.new_velocity[i], velocity, 1e-6 * scale) << "k " << k << " coordinate " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ssd
