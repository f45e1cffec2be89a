// One worker is a plain loop, and evaluation changes nothing.
#include <cmath>

#include "tests/worker/training_run.h"

namespace ssd {
namespace {

using ::testing::ElementsAre;
using testing::RunSetup;
using testing::StandInModel;
using testing::TrainingRun;

using Kind = LocalUpdateOptions::Kind;
using Policy = SyncScheduleOptions::Policy;
using Push = SyncScheduleOptions::Push;

constexpr float kRate = 0.0625f, kMomentum = 0.5f, kDecay = 0.25f;  // so that float and double agree

// The specification's server and one worker, one coordinate, in float.
struct PlainLoop {
  RunSetup setup;
  int layer = 0;
  float x = 1, weight = 1, velocity = 0, global = 0, last = 1, own_velocity = 0;
  int64_t last_version = 0;
  std::vector<float> at_gradient;

  float Gradient(int64_t step) const { return StandInModel::Gradient(layer, x, /*target=*/0, step); }

  void Server(float gradient) {
    velocity = kMomentum * velocity + (gradient + kDecay * weight);
    weight = weight - kRate * velocity;
  }
  void Install(int64_t version) {
    if (version > last_version) {
      global =
          (last - pulled) * static_cast<float>(1 / (kRate * static_cast<double>(version - last_version)));
    }
    last = x = pulled;
    last_version = version;
  }
  float pulled = 1;

  void LocalStep(float gradient) {
    const LocalUpdateOptions& update = *setup.update;
    if (update.kind == Kind::kMomentum) {
      own_velocity = kMomentum * own_velocity + (gradient + kDecay * x);
      x -= kRate * own_velocity;
      return;
    }
    const float alpha = static_cast<float>(*update.alpha);
    const float pull = update.kind == Kind::kGlu ? static_cast<float>(update.beta) * global : 0.0f;
    x -= update.kind == Kind::kGlu ? kRate * (alpha * gradient + pull + kDecay * x)
                                   : kRate * (alpha * gradient + kDecay * x);
  }

  // No warm-up.
  void Run() {
    const SyncScheduleOptions& schedule = setup.schedule;
    bool under_way = false;
    for (int64_t t = 0; t < schedule.total_steps; ++t) {
      at_gradient.push_back(x);
      const float gradient = Gradient(t);
      Server(gradient);
      if (schedule.policy == Policy::kSsgd) {
        x = weight;
        continue;
      }
      if (under_way) Install(t);
      under_way = false;
      LocalStep(gradient);
      if ((t + 1) % schedule.k == 0 || t + 1 == schedule.total_steps) {
        pulled = weight;
        under_way = schedule.pull_overlap == 1;
        if (!under_way) Install(t + 1);
      }
    }
    if (under_way) x = pulled;
  }
};

void ExpectEqualsPlainLoop(const RunSetup& setup) {
  TrainingRun run(setup);
  run.Run();
  ASSERT_TRUE(run.ok());
  for (int layer = 0; layer < 3; ++layer) {
    PlainLoop loop{.setup = setup, .layer = layer};
    loop.Run();
    for (size_t t = 0; t < loop.at_gradient.size(); ++t) {
      ASSERT_EQ(run.models[0]->weights_at_gradient[t][layer], loop.at_gradient[t])
          << "layer " << layer << " before step " << t;
    }
    EXPECT_EQ(run.weights(0)[layer], loop.x) << "layer " << layer;
    EXPECT_NE(loop.x, 1) << "or nothing was trained";
  }
}

RunSetup OneWorker(SyncScheduleOptions schedule) {
  schedule.total_steps = 14;
  return {.schedule = schedule, .optimizer = {.momentum = kMomentum, .weight_decay = kDecay}};
}

TEST(PlainLoopTest, OneSynchronousWorkerIsMomentumSgd) {
  ExpectEqualsPlainLoop(OneWorker({.policy = Policy::kSsgd}));
}

TEST(PlainLoopTest, OneSsdWorkerIsTheSpecificationsLoop) {
  for (Kind kind : {Kind::kSgd, Kind::kGlu, Kind::kMomentum}) {
    for (int64_t overlap : {0, 1}) {
      for (int64_t k : {1, 4}) {
        RunSetup setup = OneWorker({.k = k, .pull_overlap = overlap});
        setup.update = LocalUpdateOptions{
            .kind = kind, .alpha = 2, .beta = 0.5, .momentum = kMomentum, .weight_decay = kDecay};
        ExpectEqualsPlainLoop(setup);
      }
    }
  }
}

TEST(PlainLoopTest, AWarmUpThatNeverEndsIsTheSynchronousRunBitForBit) {
  TrainingRun ssgd({.num_workers = 2, .schedule = {.policy = Policy::kSsgd, .total_steps = 14}});
  TrainingRun warmup({.num_workers = 2, .schedule = {.k = 4, .warmup_steps = 14, .total_steps = 14}});
  ssgd.Run();
  warmup.Run();
  ASSERT_TRUE(ssgd.ok() && warmup.ok());
  EXPECT_EQ(ssgd.models[1]->weights_at_gradient, warmup.models[1]->weights_at_gradient);
  EXPECT_EQ(ssgd.weights(0), warmup.weights(0));
}

TEST(PlainLoopTest, PeriodsOfOneStepPushedEitherWayAreTheSame) {
  TrainingRun steps({.schedule = {.k = 1, .pull_overlap = 1, .total_steps = 9}});
  TrainingRun periods(
      {.schedule = {.k = 1, .pull_overlap = 1, .push = Push::kEveryPeriod, .total_steps = 9}});
  steps.Run();
  periods.Run();
  ASSERT_TRUE(steps.ok() && periods.ok());
  EXPECT_EQ(steps.weights(0), periods.weights(0));
}

// Remembers what it was shown; its share is its own number.
class FakeEvaluator : public Evaluator {
 public:
  explicit FakeEvaluator(int number) : number_(number) {}
  BatchResult Evaluate(Model& model, std::span<const float> buffers) override {
    weights.emplace_back(model.parameters().begin(), model.parameters().end());
    statistics.push_back(buffers[0]);
    return {.loss = loss, .correct = number_ + 1, .samples = 10};
  }

  std::vector<std::vector<float>> weights;
  std::vector<float> statistics;
  double loss = 0.5;

 private:
  const int number_;
};

RunSetup EvaluatedRun(int64_t overlap) {
  return {
      .num_workers = 2,
      .num_shards = 2,
      .schedule = {
          .k = 4, .warmup_steps = 3, .pull_overlap = overlap, .total_steps = 14, .evaluation_interval = 5}};
}

TEST(EvaluationTest, ChangesNoBitOfTheTraining) {
  for (int64_t overlap : {0, 1}) {
    FakeEvaluator first(0), second(1);
    TrainingRun with(EvaluatedRun(overlap), {&first, &second}), without(EvaluatedRun(overlap));
    with.Run();
    without.Run();
    ASSERT_TRUE(with.ok() && without.ok());
    EXPECT_EQ(first.weights.size(), 3u);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(with.models[i]->weights_at_gradient, without.models[i]->weights_at_gradient);
      EXPECT_EQ(with.weights(i), without.weights(i));
    }
  }
}

TEST(EvaluationTest, AllWorkersSeeTheSameVersionAndItsAveragedStatistics) {
  std::vector<float> version7;
  for (int64_t overlap : {0, 1}) {
    FakeEvaluator first(0), second(1);
    TrainingRun run(EvaluatedRun(overlap), {&first, &second});
    run.Run();
    ASSERT_TRUE(run.ok());
    ASSERT_EQ(first.weights.size(), 3u);
    EXPECT_EQ(first.weights, second.weights);
    // Versions 7, 11 and 14: the mean of v and 25 + v.
    EXPECT_THAT(first.statistics, ElementsAre(7 + 12.5f, 11 + 12.5f, 14 + 12.5f));
    EXPECT_EQ(first.statistics, second.statistics);
    EXPECT_EQ(first.weights[2], run.weights(0)) << "the run's last version";
    // Up to version 7 overlap changes nothing; without it step 7 begins with that version itself.
    if (overlap == 0) version7 = run.models[0]->weights_at_gradient[7];
    EXPECT_EQ(first.weights[0], version7) << "not what the local update made of it";
  }
}

TEST(EvaluationTest, SharesOfAllWorkersAreAddedUp) {
  FakeEvaluator first(0), second(1);
  TrainingRun run(EvaluatedRun(1), {&first, &second});
  run.Run();
  const auto& evaluations = run.cluster->observer.evaluations;
  ASSERT_EQ(evaluations.size(), 3u);
  const uint64_t versions[] = {7, 11, 14};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(evaluations[i].version(), versions[i]);
    EXPECT_EQ(evaluations[i].correct(), 3u);
    EXPECT_EQ(evaluations[i].samples(), 20u);
    EXPECT_EQ(evaluations[i].loss_sum(), 1.0);
  }
}

TEST(EvaluationTest, ATestLossThatIsNotFiniteEndsAllWithCode4) {
  FakeEvaluator first(0), second(1);
  second.loss = INFINITY;
  TrainingRun run(EvaluatedRun(1), {&first, &second});
  run.Run();
  EXPECT_THAT(run.codes(), ::testing::Each(4));
  EXPECT_THAT(run.cluster->worker_endings[0]->message, ::testing::HasSubstr("the test loss of version 7"));
}

}  // namespace
}  // namespace ssd
