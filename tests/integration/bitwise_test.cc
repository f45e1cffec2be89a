// Whole runs of a residual network, bit for bit: a synchronous run equals a loop in one process, and in
// deterministic mode neither the order in which frames arrive nor an evaluation changes a bit.
//
// Frames overtake each other at random, as far as a network allows it: those of one stream keep their order.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/logging.h"
#include "models/initialization.h"
#include "models/registry.h"
#include "tests/testing/cluster.h"
#include "tests/testing/posted_batches.h"
#include "tests/testing/shuffled_lanes.h"
#include "tests/testing/train_now.h"
#include "worker/data/data_order.h"
#include "worker/data/shapes.h"
#include "worker/stripe_evaluator.h"

namespace ssd {
namespace {

using testing::Cluster;
using testing::ManualExecutor;
using testing::PostedBatches;
using testing::ShuffledLanes;

constexpr uint64_t kSeed = 5;
constexpr int64_t kBatch = 8;
constexpr double kRate = 0.05, kGamma = 0.1, kMomentum = 0.9, kWeightDecay = 1e-3;
constexpr int64_t kRateDrop = 10;  // the step at which the learning rate falls by kGamma

const ImageData& Images() {
  static const auto& images = *new ImageData(MakeShapes(kSeed, /*train=*/90, /*test=*/22));
  return images;
}

std::unique_ptr<Model> NewModel(uint64_t seed) {
  absl::StatusOr<std::unique_ptr<Model>> model = MakeModel(
      "resnet8", {.image = Images().train.shape, .classes = 10, .batch_size = kBatch, .threads = 1});
  CHECK_OK(model.status());
  InitializeParameters((*model)->layout(), seed, (*model)->parameters(), (*model)->buffers());
  return *std::move(model);
}

PostedBatches NewBatches(int worker, int workers, Executor& executor) {
  const DataOrder order(
      {.seed = kSeed, .samples = Images().train.size(), .workers = workers, .batch = kBatch});
  return PostedBatches(TrainingBatches(Images().train, order, WorkerId(worker), /*augment=*/true), executor);
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

MATCHER_P(HasTheBitsOf, want, "has the same bits") {
  if (SameBits(arg, want)) return true;
  const auto [at, other] = std::mismatch(arg.begin(), arg.end(), want.begin(), want.end());
  *result_listener << "of " << arg.size() << " and " << want.size() << " floats, the first that differs is "
                   << at - arg.begin();
  return false;
}

// What a run leaves behind.
struct Trained {
  std::vector<float> weights, buffers;           // the newest on the shards; in one process: the only ones
  std::vector<std::vector<float>> local;         // by worker: x after the last pull
  std::vector<std::vector<float>> last_buffers;  // by worker: the averaged ones that it ends with
  int evaluations = 0;
};

// The update rule written out, with nothing of servers and workers:
//   d = (g_0 + g_1 + ...) / n + lambda W;  v = mu v + d;  W = W - eta v
Trained TrainInOneProcess(int workers, int64_t steps) {
  ManualExecutor unused;
  std::vector<std::unique_ptr<Model>> replicas;
  std::vector<PostedBatches> batches;
  for (int i = 0; i < workers; ++i) {
    replicas.push_back(NewModel(kSeed));
    batches.push_back(NewBatches(i, workers, unused));
  }
  Trained run;
  run.weights.assign(replicas[0]->parameters().begin(), replicas[0]->parameters().end());
  const size_t size = run.weights.size();
  const float n = static_cast<float>(workers);
  const float mu = static_cast<float>(kMomentum), lambda = static_cast<float>(kWeightDecay);
  std::vector<float> velocity(size, 0.0f), sum(size), gradient(size);
  for (int64_t t = 0; t < steps; ++t) {
    for (int i = 0; i < workers; ++i) {
      std::copy(run.weights.begin(), run.weights.end(), replicas[i]->parameters().begin());
      testing::TrainNow(*replicas[i], batches[i].Make(Step(t)), gradient);
      for (size_t j = 0; j < size; ++j) sum[j] = i == 0 ? gradient[j] : sum[j] + gradient[j];
    }
    const float eta = static_cast<float>(t < kRateDrop ? kRate : kRate * kGamma);
    for (size_t j = 0; j < size; ++j) {
      const float d = sum[j] / n + lambda * run.weights[j];
      velocity[j] = mu * velocity[j] + d;
      run.weights[j] = run.weights[j] - eta * velocity[j];
    }
  }
  // Every replica keeps its own running statistics; the model's are their mean.
  run.buffers.assign(replicas[0]->buffers().begin(), replicas[0]->buffers().end());
  for (size_t j = 0; j < run.buffers.size(); ++j) {
    for (int i = 1; i < workers; ++i) run.buffers[j] += replicas[i]->buffers()[j];
    run.buffers[j] = run.buffers[j] / n;
  }
  return run;
}

struct RunOptions {
  int workers = 1;
  int shards = 3;
  bool deterministic = true;
  SyncScheduleOptions schedule;
  bool evaluate = false;
  uint64_t arrivals = 1;  // the seed of the order in which frames arrive
};

Trained TrainInCluster(const RunOptions& options) {
  ManualExecutor executor;
  ShuffledLanes lanes(options.arrivals, executor);
  std::vector<std::unique_ptr<Model>> models;
  std::vector<std::unique_ptr<PostedBatches>> batches;
  std::vector<std::unique_ptr<StripeEvaluator>> evaluators;
  std::vector<Cluster::Replica> replicas;
  for (int i = 0; i < options.workers; ++i) {
    // Worker 0's weights are what all start from, whatever the others have.
    models.push_back(NewModel(kSeed + i));
    batches.push_back(std::make_unique<PostedBatches>(NewBatches(i, options.workers, executor)));
    evaluators.push_back(std::make_unique<StripeEvaluator>(
        EvaluationStripe(Images().test, WorkerId(i), options.workers, kBatch)));
    replicas.push_back({.model = models[i].get(),
                        .batches = batches[i].get(),
                        .evaluator = options.evaluate ? evaluators[i].get() : nullptr});
  }
  Cluster::Options setup{.num_shards = options.shards,
                         .deterministic = options.deterministic,
                         .optimizer = {.momentum = kMomentum, .weight_decay = kWeightDecay},
                         .schedule = std::make_shared<SyncSchedule>(options.schedule),
                         .learning_rate = std::make_shared<LearningRate>(
                             LearningRateOptions{.base = kRate,
                                                 .schedule = LearningRateOptions::Schedule::kStep,
                                                 .milestones = {Step(kRateDrop)},
                                                 .gamma = kGamma}),
                         .streams = [&lanes]() -> Executor& { return lanes.NewLane(); }};
  if (options.schedule.policy == SyncScheduleOptions::Policy::kSsdSgd) {
    setup.update = {
        .kind = LocalUpdateOptions::Kind::kGlu, .momentum = kMomentum, .weight_decay = kWeightDecay};
  }
  Cluster cluster(setup, executor, replicas);
  Trained run;
  run.last_buffers.resize(options.workers);
  cluster.on_finished = [&run](int worker, std::span<const float> buffers) {
    run.last_buffers[worker].assign(buffers.begin(), buffers.end());
  };
  cluster.Start();
  while (lanes.RunOne()) {
  }

  for (const auto& ending : cluster.worker_endings) {
    EXPECT_TRUE(ending.has_value() && ending->code == kExitDone)
        << (ending.has_value() ? ending->message : "still running");
  }
  for (const auto& model : models)
    run.local.emplace_back(model->parameters().begin(), model->parameters().end());
  run.weights.resize(models[0]->parameters().size());
  run.buffers.resize(models[0]->buffers().size());
  for (int i = 0; i < options.shards; ++i) {
    const ParameterShard& shard = *cluster.shard(i).parameters();
    for (const Block& block : shard.partition().blocks()) {
      if (block.shard != ShardId(i)) continue;
      const auto newest = shard.Newest(block.id);
      CHECK(newest.has_value()) << "block " << block.id << " was never given";
      EXPECT_EQ(newest->version, Version(options.schedule.total_steps));
      const std::span<const float> values = newest->values.values();
      std::vector<float>& to = block.kind == Block::Kind::kParameters ? run.weights : run.buffers;
      std::copy(values.begin(), values.end(), to.begin() + block.offset);
    }
  }
  for (const v1::Evaluated& sum : cluster.observer.evaluations) {
    EXPECT_EQ(sum.samples(), Images().test.size());
    ++run.evaluations;
  }
  return run;
}

SyncScheduleOptions Synchronous(int64_t steps) {
  return {.policy = SyncScheduleOptions::Policy::kSsgd, .total_steps = steps};
}

struct SynchronousCase {
  int workers, shards;
  bool deterministic;
};

class SynchronousRunTest : public ::testing::TestWithParam<SynchronousCase> {};

TEST_P(SynchronousRunTest, EqualsALoopInOneProcessBitForBit) {
  const auto [workers, shards, deterministic] = GetParam();
  constexpr int64_t kSteps = 20;  // more than one epoch, and both learning rates
  const Trained loop = TrainInOneProcess(workers, kSteps);
  const Trained run = TrainInCluster({.workers = workers,
                                      .shards = shards,
                                      .deterministic = deterministic,
                                      .schedule = Synchronous(kSteps)});
  EXPECT_THAT(run.weights, HasTheBitsOf(loop.weights));
  EXPECT_THAT(run.buffers, HasTheBitsOf(loop.buffers));
  for (int i = 0; i < workers; ++i) {
    EXPECT_THAT(run.local[i], HasTheBitsOf(loop.weights)) << "worker " << i;
    EXPECT_THAT(run.last_buffers[i], HasTheBitsOf(loop.buffers)) << "worker " << i;
  }
}

// The sum of two does not depend on their order, that of four does.
INSTANTIATE_TEST_SUITE_P(All, SynchronousRunTest,
                         ::testing::Values(SynchronousCase{1, 1, false}, SynchronousCase{2, 3, false},
                                           SynchronousCase{4, 3, true}),
                         [](const auto& info) {
                           return std::to_string(info.param.workers) + "_workers_" +
                                  std::to_string(info.param.shards) + "_shards";
                         });

// How many different results ten orders of arrival lead to.
size_t DifferentResults(bool deterministic) {
  std::set<std::vector<float>> results;
  for (uint64_t arrivals = 1; arrivals <= 10; ++arrivals) {
    results.insert(
        TrainInCluster(
            {.workers = 4, .deterministic = deterministic, .schedule = Synchronous(3), .arrivals = arrivals})
            .weights);
  }
  return results.size();
}

TEST(OrderOfArrivalTest, ShowsInTheBitsWithoutDeterministicMode) {
  EXPECT_GT(DifferentResults(/*deterministic=*/false), 1u);
}

TEST(OrderOfArrivalTest, DoesNotShowInDeterministicMode) {
  EXPECT_EQ(DifferentResults(/*deterministic=*/true), 1u);
}

class DelayedRunTest : public ::testing::TestWithParam<SyncScheduleOptions::Push> {
 protected:
  // 15 steps: 2 synchronous, 3 periods, and one step of a fourth.
  static Trained Train(uint64_t arrivals, bool evaluate) {
    return TrainInCluster({.workers = 4,
                           .schedule = {.policy = SyncScheduleOptions::Policy::kSsdSgd,
                                        .k = 4,
                                        .warmup_steps = 2,
                                        .push = GetParam(),
                                        .total_steps = 15,
                                        .evaluation_interval = evaluate ? 3.0 : 0.0},
                           .evaluate = evaluate,
                           .arrivals = arrivals});
  }
  static void ExpectSame(const Trained& a, const Trained& b) {
    EXPECT_THAT(a.weights, HasTheBitsOf(b.weights));
    EXPECT_THAT(a.buffers, HasTheBitsOf(b.buffers));
    for (size_t i = 0; i < a.local.size(); ++i) {
      EXPECT_THAT(a.local[i], HasTheBitsOf(b.local[i])) << "worker " << i;
      EXPECT_THAT(a.last_buffers[i], HasTheBitsOf(b.last_buffers[i])) << "worker " << i;
    }
  }
};

TEST_P(DelayedRunTest, IsTheSameBitsWhateverArrivesFirst) {
  const Trained run = Train(/*arrivals=*/1, /*evaluate=*/true);
  ExpectSame(run, Train(/*arrivals=*/2, /*evaluate=*/true));
  EXPECT_THAT(run.local[0], HasTheBitsOf(run.weights)) << "the last version is installed at the end";
}

TEST_P(DelayedRunTest, IsTheSameBitsWithAndWithoutEvaluation) {
  const Trained with = Train(/*arrivals=*/1, /*evaluate=*/true);
  const Trained without = Train(/*arrivals=*/1, /*evaluate=*/false);
  EXPECT_EQ(with.evaluations, 4) << "at the pulled versions 6, 10, 14 and 15";
  EXPECT_EQ(without.evaluations, 0);
  ExpectSame(with, without);
}

INSTANTIATE_TEST_SUITE_P(All, DelayedRunTest,
                         ::testing::Values(SyncScheduleOptions::Push::kEveryStep,
                                           SyncScheduleOptions::Push::kEveryPeriod),
                         [](const auto& info) {
                           return info.param == SyncScheduleOptions::Push::kEveryStep ? "every_step"
                                                                                      : "every_period";
                         });

}  // namespace
}  // namespace ssd
