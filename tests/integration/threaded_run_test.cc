// Whole runs with the threads that the programs have, one for each shard, trainer and prefetcher, and without
// gRPC: what ThreadSanitizer watches. In deterministic mode they end with the bits of a run on one thread.
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "common/executor.h"
#include "common/logging.h"
#include "tests/worker/training_run.h"
#include "worker/data/data_order.h"
#include "worker/data/prefetch.h"
#include "worker/data/shapes.h"

namespace ssd {
namespace {

using testing::FrameTap;
using testing::InProcessChannel;
using testing::InProcessStream;
using testing::RecordingObserver;
using testing::RunSetup;
using testing::StandInModel;
using testing::TrainingRun;

constexpr int64_t kBatch = 2;
constexpr int64_t kTrainingImages = 24;

// A test that hangs is ended by its runner; this says where.
template <typename T>
T Get(std::promise<T>& promise) {
  std::future<T> future = promise.get_future();
  CHECK(future.wait_for(std::chrono::seconds(60)) == std::future_status::ready) << "it never came";
  return future.get();
}

// Returns when `task`, and all that was posted before it, has run.
void RunOn(Executor& executor, const std::function<void()>& task) {
  std::promise<bool> done;
  executor.Post([&] {
    task();
    done.set_value(true);
  });
  Get(done);
}

struct ThreadedShard {
  std::unique_ptr<Shard> shard;
  std::promise<Ending> ending;
  ThreadExecutor executor{"shard"};  // last: its thread ends before what it works on
};

// Each frame is a task of the receiver's executor.
class ThreadedChannels : public ShardChannelFactory {
 public:
  ThreadedChannels(std::vector<std::unique_ptr<ThreadedShard>>& shards, Executor& worker)
      : shards_(shards), worker_(worker) {}
  std::unique_ptr<ShardChannel> Open(ShardId shard, ShardChannel::Listener& listener) override {
    ThreadedShard& there = *shards_[shard.value()];
    return std::make_unique<InProcessChannel>(
        shard, InProcessStream::Open(shard, *there.shard, there.executor, listener, worker_), tap_);
  }

 private:
  std::vector<std::unique_ptr<ThreadedShard>>& shards_;
  Executor& worker_;
  const FrameTap tap_;
};

struct ThreadedWorker {
  explicit ThreadedWorker(float target) : model(target) {}

  StandInModel model;
  std::promise<Ending> ending;
  std::unique_ptr<ThreadedChannels> channels;
  std::unique_ptr<ParameterClient> client;
  std::optional<LocalUpdate> update;
  std::unique_ptr<PrefetchingBatchSource> batches;
  std::optional<Trainer> trainer;
  ThreadExecutor executor{"trainer"};  // last: its thread ends before what it works on
};

class ThreadedRun {
 public:
  explicit ThreadedRun(const RunSetup& setup)
      : setup_(setup),
        images_(MakeShapes(/*seed=*/1, kTrainingImages, /*test=*/1)),
        schedule_(std::make_shared<SyncSchedule>(setup.schedule)),
        learning_rate_(std::make_shared<LearningRate>(setup.learning_rate)),
        coordinator_(setup.num_workers, observer_) {
    for (int i = 0; i < setup.num_shards; ++i) AddShard(i);
    for (int i = 0; i < setup.num_workers; ++i) AddWorker(i);
  }

  // The exit codes, the shards' first.
  std::vector<int> Run() {
    for (const auto& worker : workers_) {
      worker->executor.Post(
          [&trainer = *worker->trainer] { trainer.Start([](std::span<const float>) { return Ending{}; }); });
    }
    std::vector<int> codes;
    for (const auto& shard : shards_) codes.push_back(Get(shard->ending).code);
    for (const auto& worker : workers_) codes.push_back(Get(worker->ending).code);
    // The streams end on the threads that use them, and the shards' answers to that come before the threads end.
    for (const auto& worker : workers_) {
      RunOn(worker->executor, [&] {
        worker->trainer.reset();
        worker->batches.reset();
        worker->client.reset();
      });
    }
    for (const auto& shard : shards_) RunOn(shard->executor, [] {});
    return codes;
  }

  std::vector<float> weights(int worker) {
    const std::span<const float> x = workers_[worker]->model.parameters();
    return {x.begin(), x.end()};
  }
  size_t num_reports() const { return observer_.reports.size(); }

 private:
  void AddShard(int i) {
    ThreadedShard& shard = *shards_.emplace_back(std::make_unique<ThreadedShard>());
    shard.shard = std::make_unique<Shard>(
        Shard::Options{.shard = ShardId(i),
                       .num_shards = setup_.num_shards,
                       .num_workers = setup_.num_workers,
                       .deterministic = setup_.deterministic,
                       .block_bytes = sizeof(float),
                       .optimizer = setup_.optimizer,
                       .plan =
                           [this](int64_t) {
                             return ShardPlan{schedule_, learning_rate_};
                           }},
        shard.executor, Clock::Real(), i == 0 ? &coordinator_ : nullptr, [](const v1::Hello&) {},
        [&shard](const Ending& ending) { shard.ending.set_value(ending); });
    shard.executor.Post([&shard] { shard.shard->Start(); });
  }

  void AddWorker(int i) {
    ThreadedWorker& worker =
        *workers_.emplace_back(std::make_unique<ThreadedWorker>(static_cast<float>(i) / 4));
    const WorkerId id(i);
    const Partition partition(worker.model.layout(), setup_.num_shards, sizeof(float));
    worker.channels = std::make_unique<ThreadedChannels>(shards_, worker.executor);
    worker.client = std::make_unique<ParameterClient>(
        ParameterClient::Options{.worker = id,
                                 .incarnation = Incarnation(1),
                                 .shard_names = std::vector<std::string>(setup_.num_shards, "in process")},
        partition, *worker.channels, worker.executor, Clock::Real(),
        [&worker](const Ending& ending) { worker.ending.set_value(ending); });
    if (setup_.update.has_value())
      worker.update.emplace(*setup_.update, partition, schedule_, learning_rate_, worker.model.memory());
    worker.batches = std::make_unique<PrefetchingBatchSource>(
        images_.train,
        DataOrder({.seed = 1, .samples = kTrainingImages, .workers = setup_.num_workers, .batch = kBatch}),
        PrefetchingBatchSource::Options{.worker = id, .steps = {.first = Step(0), .end = schedule_->end()}},
        worker.executor);
    worker.trainer.emplace(Trainer::Options{.worker = id}, worker.model, *worker.batches,
                           /*evaluator=*/nullptr, *worker.client, schedule_,
                           worker.update.has_value() ? &*worker.update : nullptr, Clock::Real());
  }

  const RunSetup setup_;
  const ImageData images_;
  const std::shared_ptr<const SyncSchedule> schedule_;
  const std::shared_ptr<const LearningRate> learning_rate_;
  RecordingObserver observer_;
  Coordinator coordinator_;
  std::vector<std::unique_ptr<ThreadedShard>> shards_;
  std::vector<std::unique_ptr<ThreadedWorker>> workers_;
};

RunSetup ThreeWorkers(const SyncScheduleOptions& schedule) {
  RunSetup setup{.num_workers = 3,
                 .num_shards = 3,
                 .deterministic = true,
                 .schedule = schedule,
                 .optimizer = {.momentum = 0.5, .weight_decay = 0.25}};
  if (schedule.policy == SyncScheduleOptions::Policy::kSsgd) setup.update = std::nullopt;
  setup.learning_rate.total_steps = schedule.total_steps;
  return setup;
}

class ThreadedRunTest : public ::testing::TestWithParam<SyncScheduleOptions> {};

TEST_P(ThreadedRunTest, EndsWithTheBitsOfARunOnOneThread) {
  const RunSetup setup = ThreeWorkers(GetParam());
  TrainingRun alone(setup);
  alone.Run();
  ASSERT_TRUE(alone.ok());

  ThreadedRun threaded(setup);
  EXPECT_THAT(threaded.Run(), ::testing::Each(0));
  for (int i = 0; i < setup.num_workers; ++i) EXPECT_EQ(threaded.weights(i), alone.weights(i)) << i;
  EXPECT_GT(threaded.num_reports(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Policies, ThreadedRunTest,
    ::testing::Values(SyncScheduleOptions{.policy = SyncScheduleOptions::Policy::kSsgd, .total_steps = 60},
                      SyncScheduleOptions{.k = 4, .warmup_steps = 3, .total_steps = 60},
                      SyncScheduleOptions{.k = 3, .pull_overlap = 0, .total_steps = 60},
                      SyncScheduleOptions{.k = 4,
                                          .warmup_steps = 2,
                                          .push = SyncScheduleOptions::Push::kEveryPeriod,
                                          .total_steps = 60}));

}  // namespace
}  // namespace ssd
