#include "worker/local_update.h"

#include <cmath>
#include <memory>
#include <vector>

#include "models/host_memory.h"

namespace ssd {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

using Kind = LocalUpdateOptions::Kind;
constexpr BlockId kFirst(0), kSecond(1);

// One or two blocks of one float each.
class Worker {
 public:
  Worker(const LocalUpdateOptions& options, SyncScheduleOptions schedule,
         LearningRateOptions rate = {.base = 0.5}, int64_t blocks = 1)
      : x(blocks, 0.0f) {
    ModelLayout layout;
    layout.parameters.Add("x", {blocks});
    schedule.total_steps = rate.total_steps = 100;
    if (rate.schedule == LearningRateOptions::Schedule::kPolynomial) schedule.total_steps = 1000;
    update_.emplace(options, Partition(layout, 1, /*block_bytes=*/4),
                    std::make_shared<SyncSchedule>(schedule), std::make_shared<LearningRate>(rate), memory_);
  }

  void Install(int64_t version, float value, BlockId block = kFirst) {
    update_->Install(block, Version(version), Buffer::Copy(std::vector<float>{value}), At(block));
  }
  float Apply(int64_t step, float gradient, BlockId block = kFirst) {
    update_->Apply(block, Step(step), std::vector<float>{gradient}, At(block));
    return x[block.value()];
  }
  void Synchronous(float gradient) {
    update_->AfterSynchronousGradient(kFirst, At(kFirst), std::vector<float>{gradient});
  }
  double alpha() const { return update_->alpha(); }

  std::vector<float> x;

 private:
  std::span<float> At(BlockId block) { return std::span(x).subspan(block.value(), 1); }
  HostMemory memory_;
  std::optional<LocalUpdate> update_;
};

TEST(LocalUpdateTest, AlphaIsMatchedToThePaceOfGluAndOneOtherwise) {
  EXPECT_DOUBLE_EQ(Worker({.kind = Kind::kGlu, .beta = 0.5, .momentum = 0.9}, {}).alpha(), 5);
  EXPECT_DOUBLE_EQ(Worker({.kind = Kind::kGlu, .beta = 0.25, .momentum = 0.5}, {}).alpha(), 1.5);
  for (const Kind kind : {Kind::kSgd, Kind::kGluMomentum, Kind::kGluPrototype, Kind::kDcLocal}) {
    EXPECT_EQ(Worker({.kind = kind, .momentum = 0.9}, {}).alpha(), 1);
  }
  EXPECT_EQ(Worker({.kind = Kind::kGlu, .alpha = 2}, {}).alpha(), 2);
}

TEST(LocalUpdateTest, SgdByHand) {
  Worker worker({.kind = Kind::kSgd, .alpha = 3, .weight_decay = 0.25}, {.k = 2});
  worker.Install(0, 4);
  EXPECT_EQ(worker.Apply(0, 2), 0.5f) << "4 - 0.5 (3 * 2 + 0.25 * 4)";
  worker.Install(2, 1);
  EXPECT_EQ(worker.Apply(2, 0), 0.875f) << "a pull gives no G";
}

TEST(LocalUpdateTest, LocalRateIsScaled) {
  Worker worker({.kind = Kind::kSgd, .local_lr_scale = 2}, {.k = 2});
  worker.Install(0, 4);
  EXPECT_EQ(worker.Apply(0, 1), 3.0f) << "4 - 0.5 * 2 * 1";
}

TEST(LocalUpdateTest, GluWithoutAWarmUpHasNoGUntilTheFirstPull) {
  Worker worker({.kind = Kind::kGlu, .alpha = 1, .beta = 0.5}, {.k = 2});
  worker.Install(0, 4);
  EXPECT_EQ(worker.Apply(0, 2), 3.0f);
  EXPECT_EQ(worker.Apply(1, 2), 2.0f);
  // G = (4 - 2) / (0.5 + 0.5) = 2 over steps 0 and 1.
  worker.Install(2, 2);
  EXPECT_EQ(worker.x[0], 2.0f);
  EXPECT_EQ(worker.Apply(2, 0), 1.5f) << "2 - 0.5 (0.5 * 2)";
  EXPECT_EQ(worker.Apply(3, 2), 0.0f) << "1.5 - 0.5 (2 + 0.5 * 2)";
}

TEST(LocalUpdateTest, GluDividesByTheSumOfScaledRates) {
  Worker worker({.kind = Kind::kGlu, .alpha = 1, .beta = 1, .local_lr_scale = 4}, {.k = 2});
  worker.Install(0, 4);
  worker.Install(2, 0);  // G = 4 / (2 * 0.5 * 4) = 1
  EXPECT_EQ(worker.Apply(2, 0), -2.0f) << "0 - 0.5 * 4 * 1";
}

TEST(LocalUpdateTest, GluAddsDecayOfTheLocalWeights) {
  Worker worker({.kind = Kind::kGlu, .alpha = 1, .beta = 0.5, .weight_decay = 0.5}, {.k = 2});
  worker.Install(0, 4);
  EXPECT_EQ(worker.Apply(0, 1), 2.5f) << "4 - 0.5 (1 + 0.5 * 4)";
}

TEST(LocalUpdateTest, AfterAWarmUpGSpansItsLastKSteps) {
  // T_w = 5, k = 2: G = (W_3 - W_5) / (eta_3 + eta_4).
  Worker worker({.kind = Kind::kGlu, .alpha = 1, .beta = 1}, {.k = 2, .warmup_steps = 5});
  const float weights[] = {100, 50, 30, 8, 7, 6};
  for (int version = 0; version <= 5; ++version) worker.Install(version, weights[version]);
  EXPECT_EQ(worker.Apply(5, 0), 6.0f - 0.5f * 2.0f) << "G = (8 - 6) / 1";
}

TEST(LocalUpdateTest, AWarmUpShorterThanAPeriodGivesGItsOwnLength) {
  // T_w = 1, k = 4: m = 1, G = (W_0 - W_1) / eta_0.
  Worker worker({.kind = Kind::kGlu, .alpha = 1, .beta = 1}, {.k = 4, .warmup_steps = 1});
  worker.Install(0, 3);
  worker.Install(1, 2);
  EXPECT_EQ(worker.Apply(1, 0), 1.0f) << "2 - 0.5 * 2, G = 1 / 0.5";
  // From then on W_last = W_1: G = (2 - 0) / (4 * 0.5).
  worker.Install(5, 0);
  EXPECT_EQ(worker.Apply(5, 0), -0.5f);
}

TEST(LocalUpdateTest, GIsMadeOfTheRatesOfItsOwnSteps) {
  // The rate falls from 1 to 0.5 at step 1: G over steps 0 and 1 is (3 - 0) / 1.5 = 2.
  Worker worker(
      {.kind = Kind::kGlu, .alpha = 1, .beta = 1}, {.k = 2},
      {.base = 1, .schedule = LearningRateOptions::Schedule::kStep, .milestones = {Step(1)}, .gamma = 0.5});
  worker.Install(0, 3);
  worker.Install(2, 0);
  EXPECT_EQ(worker.Apply(2, 0), -1.0f);
}

TEST(LocalUpdateTest, WhereTheRatesSumIsZeroGStays) {
  Worker worker(
      {.kind = Kind::kGlu, .alpha = 1, .beta = 1}, {.k = 2},
      {.base = 1, .schedule = LearningRateOptions::Schedule::kStep, .milestones = {Step(2)}, .gamma = 0});
  worker.Install(0, 4);
  worker.Install(2, 2);  // G = 1
  worker.Install(4, 2);  // over rates of 0
  EXPECT_EQ(worker.Apply(1, 0), 1.0f) << "2 - 1 * G, with the rate of step 1";
}

TEST(LocalUpdateTest, ARateThatFallsBelowAllFloatsMakesNoNan) {
  Worker worker({.kind = Kind::kGlu, .alpha = 1, .beta = 1}, {.k = 4},
                {.base = 0.1, .schedule = LearningRateOptions::Schedule::kPolynomial, .power = 100});
  worker.Install(92, 1);
  worker.Install(96, 1);  // the rates of steps 92 to 95 are below 1e-100
  EXPECT_EQ(worker.Apply(96, 1), 1.0f);
}

TEST(LocalUpdateTest, MomentumByHandWithTheWarmUpsGradients) {
  Worker worker({.kind = Kind::kMomentum, .momentum = 0.5, .weight_decay = 0.5}, {.k = 2, .warmup_steps = 1});
  worker.Install(0, 2);
  worker.Synchronous(1);  // u = 1 + 0.5 * 2 = 2
  worker.Install(1, 4);   // leaves u alone
  // u = 0.5 * 2 + (1 + 0.5 * 4) = 4; x = 4 - 0.5 * 4.
  EXPECT_EQ(worker.Apply(1, 1), 2.0f);
}

TEST(LocalUpdateTest, NesterovMomentumByHand) {
  Worker worker({.kind = Kind::kMomentum, .momentum = 0.5, .nesterov = true}, {.k = 2});
  worker.Install(0, 4);
  EXPECT_EQ(worker.Apply(0, 2), 2.5f) << "u = 2; 4 - 0.5 (2 + 0.5 * 2)";
  EXPECT_EQ(worker.Apply(1, 0), 2.25f) << "u = 1; 2.5 - 0.5 (0 + 0.5 * 1)";
}

TEST(LocalUpdateTest, APullCorrectsTheVelocityOfGluVelocity) {
  Worker worker({.kind = Kind::kGluVelocity, .momentum = 0.5}, {.k = 2});
  worker.Install(0, 4);
  EXPECT_EQ(worker.Apply(0, 2), 3.0f) << "u = 2";
  EXPECT_EQ(worker.Apply(1, 2), 1.5f) << "u = 3";
  // Over steps 0 and 1, whose rates add up to 1, the servers went down by 3.5 and this worker by 2.5: u = 3 + 1.
  worker.Install(2, 0.5);
  EXPECT_EQ(worker.Apply(2, 0), -0.5f) << "u = 2; 0.5 - 0.5 * 2";
}

TEST(LocalUpdateTest, TheWarmUpsLastPullCorrectsNoVelocity) {
  Worker worker({.kind = Kind::kGluVelocity, .momentum = 0.5}, {.k = 2, .warmup_steps = 1});
  worker.Install(0, 4);
  worker.Synchronous(2);  // u = 2
  worker.Install(1, 1);
  EXPECT_EQ(worker.Apply(1, 0), 0.5f) << "u = 1; 1 - 0.5 * 1";
}

TEST(LocalUpdateTest, TheVelocityOfGluMomentumStartsAtGWithEachPull) {
  Worker worker({.kind = Kind::kGluMomentum, .momentum = 0.5}, {.k = 2});
  worker.Install(0, 4);
  EXPECT_EQ(worker.Apply(0, 2), 3.0f) << "v = 2";
  EXPECT_EQ(worker.Apply(1, 2), 1.5f) << "v = 3";
  worker.Install(2, 2);  // v = G = (4 - 2) / 1
  EXPECT_EQ(worker.Apply(2, 1), 1.0f) << "v = 0.5 * 2 + 1; 2 - 0.5 * 2";
}

TEST(LocalUpdateTest, GluPrototypeRenewsItsSnapshotAfterEveryKthUpdate) {
  Worker worker({.kind = Kind::kGluPrototype, .beta = 0.5}, {.k = 2});
  worker.Install(0, 4);
  EXPECT_EQ(worker.Apply(0, 2), 3.0f) << "the snapshot is 4, as x is";
  EXPECT_EQ(worker.Apply(1, 0), 2.75f) << "3 - 0.5 * 0.5 (4 - 3); from now on the snapshot is 2.75";
  worker.Install(2, 1);
  EXPECT_EQ(worker.Apply(2, 0), 0.5625f) << "1 - 0.5 * 0.5 (2.75 - 1)";
}

TEST(LocalUpdateTest, TheSnapshotOfGluPrototypeIsTakenAtTheWarmUpsEnd) {
  Worker worker({.kind = Kind::kGluPrototype, .beta = 0.5}, {.k = 4, .warmup_steps = 2});
  worker.Install(0, 9);
  worker.Install(1, 8);
  worker.Install(2, 4);
  EXPECT_EQ(worker.Apply(2, 1), 3.5f) << "4 - 0.5 (1 + 0.5 * 0)";
}

TEST(LocalUpdateTest, DcLocalCompensatesAgainstTheWeightsPulledLast) {
  Worker worker({.kind = Kind::kDcLocal, .dc_lambda = 0.25}, {.k = 2});
  worker.Install(0, 4);
  EXPECT_EQ(worker.Apply(0, 2), 3.0f) << "x is what was pulled";
  EXPECT_EQ(worker.Apply(1, 2), 2.5f) << "3 - 0.5 (2 + 0.25 * 2 * 2 (3 - 4))";
  worker.Install(2, 1);
  EXPECT_EQ(worker.Apply(2, 2), 0.0f) << "x is what was pulled";
}

TEST(LocalUpdateTest, SynchronousGradientsAreMomentumsAlone) {
  Worker worker({.kind = Kind::kGlu, .alpha = 1, .beta = 1}, {.k = 2, .warmup_steps = 1});
  worker.Install(0, 4);
  worker.Synchronous(100);
  worker.Install(1, 4);
  EXPECT_EQ(worker.Apply(1, 0), 4.0f);
}

TEST(LocalUpdateTest, BlocksKeepTheirOwnState) {
  Worker worker({.kind = Kind::kGlu, .alpha = 1, .beta = 1}, {.k = 2}, {.base = 0.5}, /*blocks=*/2);
  for (BlockId block : {kFirst, kSecond}) worker.Install(0, 4, block);
  worker.Install(2, 2, kSecond);
  EXPECT_EQ(worker.Apply(2, 0, kFirst), 4.0f) << "no pull, no G";
  EXPECT_EQ(worker.Apply(2, 0, kSecond), 1.0f);
}

TEST(LocalUpdateDeathTest, AnotherSizeAborts) {
  Worker worker({}, {.k = 2}, {.base = 0.5}, /*blocks=*/2);
  HostMemory memory;
  ModelLayout layout;
  layout.parameters.Add("x", {2});
  LocalUpdate update({}, Partition(layout, 1, 8), std::make_shared<SyncSchedule>(SyncScheduleOptions{}),
                     std::make_shared<LearningRate>(LearningRateOptions{}), memory);
  std::vector<float> x(2);
  EXPECT_DEATH(update.Install(kFirst, Version(0), Buffer::Copy(std::vector<float>{1}), x), "check failed");
}

}  // namespace
}  // namespace ssd
