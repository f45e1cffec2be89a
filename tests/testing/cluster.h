// A whole cluster of real shards and workers on one thread: Trainer, SyncSchedule, LocalUpdate,
// ParameterClient, Session, Shard and ParameterShard, over in-process channels, with one manual executor.
#ifndef SSD_TESTS_TESTING_CLUSTER_H_
#define SSD_TESTS_TESTING_CLUSTER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/exit_code.h"
#include "server/coordinator.h"
#include "server/shard.h"
#include "tests/testing/in_process_channel.h"
#include "tests/testing/manual_executor.h"
#include "worker/trainer.h"

namespace ssd::testing {

// Remembers what the coordinator reports.
class RecordingObserver : public RunObserver {
 public:
  absl::Status OnReport(const v1::Report& sum, int, int64_t) override {
    reports.push_back(sum);
    return status;
  }
  absl::Status OnEvaluation(const v1::Evaluated& sum) override {
    evaluations.push_back(sum);
    return status;
  }

  std::vector<v1::Report> reports;
  std::vector<v1::Evaluated> evaluations;
  absl::Status status;  // what the observer answers
};

class Cluster {
 public:
  struct Options {
    int num_shards = 1;
    std::optional<int64_t> block_bytes;
    bool deterministic = false;
    OptimizerOptions optimizer;
    std::shared_ptr<const SyncSchedule> schedule;
    std::shared_ptr<const LearningRate> learning_rate;
    std::optional<LocalUpdateOptions> update;  // none: ssgd
    StreamExecutors streams;
  };
  // What a worker brings along; the models, batches and evaluators outlive the cluster.
  struct Replica {
    Model* model;
    BatchSource* batches;
    Evaluator* evaluator = nullptr;
  };

  // `executor` outlives the cluster.
  Cluster(Options options, ManualExecutor& executor, std::vector<Replica> replicas, FrameTap tap = {})
      : executor_(executor), coordinator_(static_cast<int>(replicas.size()), observer) {
    shard_endings.resize(options.num_shards);
    worker_endings.resize(replicas.size());
    for (int i = 0; i < options.num_shards; ++i) {
      shards_.push_back(std::make_unique<Shard>(
          Shard::Options{.shard = ShardId(i),
                         .num_shards = options.num_shards,
                         .num_workers = static_cast<int>(replicas.size()),
                         .deterministic = options.deterministic,
                         .block_bytes = options.block_bytes,
                         .optimizer = options.optimizer,
                         .plan =
                             [options](int64_t) {
                               return ShardPlan{options.schedule, options.learning_rate};
                             }},
          executor, executor, i == 0 ? &coordinator_ : nullptr, [](const v1::Hello&) {},
          [this, i](const Ending& ending) { shard_endings[i] = ending; }));
      shards_.back()->Start();
    }
    std::vector<Shard*> shards;
    for (const auto& shard : shards_) shards.push_back(shard.get());
    channels_ = std::make_unique<InProcessChannels>(shards, executor, std::move(tap), options.streams);
    const Partition partition(replicas[0].model->layout(), options.num_shards, options.block_bytes);
    for (size_t i = 0; i < replicas.size(); ++i) {
      const WorkerId id(static_cast<int64_t>(i));
      Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
      worker.client = std::make_unique<ParameterClient>(
          ParameterClient::Options{.worker = id,
                                   .incarnation = Incarnation(1),
                                   .shard_names = std::vector<std::string>(options.num_shards, "in process")},
          partition, *channels_, executor, executor,
          [this, i](const Ending& ending) { worker_endings[i] = ending; });
      if (options.update.has_value()) {
        worker.update.emplace(*options.update, partition, options.schedule, options.learning_rate,
                              replicas[i].model->memory());
      }
      worker.trainer.emplace(Trainer::Options{.worker = id}, *replicas[i].model, *replicas[i].batches,
                             replicas[i].evaluator, *worker.client, options.schedule,
                             worker.update.has_value() ? &*worker.update : nullptr, executor);
    }
  }

  void Start() {
    for (size_t i = 0; i < workers_.size(); ++i) {
      workers_[i]->trainer->Start([this, i](std::span<const float> buffers) {
        if (on_finished) on_finished(static_cast<int>(i), buffers);
        return Ending{};
      });
    }
  }

  Trainer& trainer(int worker) { return *workers_[worker]->trainer; }
  ParameterClient& client(int worker) { return *workers_[worker]->client; }
  Shard& shard(int shard) { return *shards_[shard]; }
  int num_shards() const { return static_cast<int>(shards_.size()); }
  int num_workers() const { return static_cast<int>(workers_.size()); }
  ManualExecutor& executor() { return executor_; }

  // Kills a worker: its streams end without a word.
  void KillWorker(int worker) {
    workers_[worker]->trainer.reset();
    workers_[worker]->client.reset();
  }

  RecordingObserver observer;
  std::vector<std::optional<Ending>> shard_endings;
  std::vector<std::optional<Ending>> worker_endings;
  // A worker has installed the last version; with the averaged buffers.
  std::function<void(int worker, std::span<const float> buffers)> on_finished;

 private:
  struct Worker {
    std::unique_ptr<ParameterClient> client;
    std::optional<LocalUpdate> update;
    std::optional<Trainer> trainer;
  };

  ManualExecutor& executor_;
  Coordinator coordinator_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::unique_ptr<InProcessChannels> channels_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_TESTING_CLUSTER_H_
