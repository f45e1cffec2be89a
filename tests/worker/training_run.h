// A cluster of stand-in models, run to its end.
#ifndef SSD_TESTS_WORKER_TRAINING_RUN_H_
#define SSD_TESTS_WORKER_TRAINING_RUN_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/cluster.h"
#include "tests/worker/stand_in_model.h"

namespace ssd::testing {

struct RunSetup {
  int num_workers = 1;
  int num_shards = 1;
  bool deterministic = false;
  SyncScheduleOptions schedule;
  OptimizerOptions optimizer;
  LearningRateOptions learning_rate = {.base = 0.0625};
  std::optional<LocalUpdateOptions> update = LocalUpdateOptions{};
  // Of the last worker: from this step on its batches are held back.
  int64_t held_from = INT64_MAX;
};

class TrainingRun {
 public:
  explicit TrainingRun(RunSetup setup, std::vector<Evaluator*> evaluators = {}) {
    if (setup.schedule.policy == SyncScheduleOptions::Policy::kSsgd) setup.update = std::nullopt;
    setup.learning_rate.total_steps = setup.schedule.total_steps;
    std::vector<Cluster::Replica> replicas;
    for (int i = 0; i < setup.num_workers; ++i) {
      models.push_back(std::make_unique<StandInModel>(static_cast<float>(i) / 4));
      const bool last = i + 1 == setup.num_workers;
      batches.push_back(std::make_unique<HeldBatches>(executor, last ? setup.held_from : INT64_MAX));
      replicas.push_back({.model = models.back().get(),
                          .batches = batches.back().get(),
                          .evaluator = evaluators.empty() ? nullptr : evaluators[i]});
    }
    models[0]->tell = [this](const std::string& event) { events.push_back(event); };
    FrameTap tap;
    tap.to_shard = [this](ShardId, const WorkerFrame& frame) { Record(frame.header); };
    cluster.emplace(Cluster::Options{.num_shards = setup.num_shards,
                                     .block_bytes = sizeof(float),
                                     .deterministic = setup.deterministic,
                                     .optimizer = setup.optimizer,
                                     .schedule = std::make_shared<SyncSchedule>(setup.schedule),
                                     .learning_rate = std::make_shared<LearningRate>(setup.learning_rate),
                                     .update = setup.update},
                    executor, std::move(replicas), std::move(tap));
  }

  void Run() {
    cluster->Start();
    executor.RunUntilIdle();
  }

  // All processes' exit codes, the shards' first; -1: still running.
  std::vector<int> codes() const {
    std::vector<int> codes;
    for (const auto& ending : cluster->shard_endings) codes.push_back(ending.has_value() ? ending->code : -1);
    for (const auto& ending : cluster->worker_endings)
      codes.push_back(ending.has_value() ? ending->code : -1);
    return codes;
  }
  bool ok() const {
    for (const int code : codes()) {
      if (code != 0) return false;
    }
    return true;
  }
  // The position of an event; -1 when it has not happened.
  int At(const std::string& event) const {
    for (size_t i = 0; i < events.size(); ++i) {
      if (events[i] == event) return static_cast<int>(i);
    }
    return -1;
  }
  std::vector<float> weights(int worker) const {
    const std::span<const float> x = models[worker]->parameters();
    return {x.begin(), x.end()};
  }

  ManualExecutor executor;
  std::vector<std::unique_ptr<StandInModel>> models;
  std::vector<std::unique_ptr<HeldBatches>> batches;
  std::vector<std::string> events;  // of worker 0 (its frames are all workers' where there are more)
  std::optional<Cluster> cluster;

 private:
  void Record(const v1::WorkerHeader& header) {
    if (header.has_push()) {
      events.push_back(absl::StrCat("push block ", header.push().block(), " step ", header.push().step()));
    } else if (header.has_pull()) {
      events.push_back(absl::StrCat("pull ", header.pull().version()));
    }
  }
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_WORKER_TRAINING_RUN_H_
