#include "tests/testing/grpc_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/logging.h"

namespace ssd::testing {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(20);

// Shows a test what a worker receives, on its way to the listener.
class TappedChannels : public ShardChannelFactory {
 public:
  using Received = std::function<void(const v1::Block&, std::span<const float>)>;

  TappedChannels(ShardChannelFactory& channels, Received received)
      : channels_(channels), received_(std::move(received)) {}

  std::unique_ptr<ShardChannel> Open(ShardId shard, ShardChannel::Listener& listener) override {
    return std::make_unique<Channel>(channels_, shard, listener, received_);
  }

 private:
  class Channel : public ShardChannel, private ShardChannel::Listener {
   public:
    Channel(ShardChannelFactory& channels, ShardId shard, ShardChannel::Listener& listener,
            const Received& received)
        : listener_(listener), received_(received), channel_(channels.Open(shard, *this)) {}
    void Send(WorkerFrame frame) override { channel_->Send(std::move(frame)); }
    void HalfClose() override { channel_->HalfClose(); }

   private:
    void OnFrame(ShardId shard, ServerFrame frame) override {
      if (received_ && frame.header.has_block()) received_(frame.header.block(), frame.payload.values());
      listener_.OnFrame(shard, std::move(frame));
    }
    void OnClosed(ShardId shard, const absl::Status& status) override { listener_.OnClosed(shard, status); }

    ShardChannel::Listener& listener_;
    const Received& received_;
    const std::unique_ptr<ShardChannel> channel_;
  };

  ShardChannelFactory& channels_;
  const Received received_;
};

}  // namespace

void RunOn(Executor& executor, absl::AnyInvocable<void()> task) {
  Mutex mutex;
  CondVar done;
  bool ran = false;
  executor.Post([&] {
    task();
    MutexLock lock(&mutex);
    ran = true;
    done.NotifyOne();
  });
  MutexLock lock(&mutex);
  while (!ran) done.Wait(&mutex);
}

GrpcCluster::GrpcCluster(Options options, const std::vector<Model*>& models)
    : options_(std::move(options)),
      coordinator_(static_cast<int>(models.size()), observer_),
      shards_(options_.addresses.size()),
      worker_endings_(models.size()),
      shard_endings_(options_.addresses.size()) {
  for (size_t i = 0; i < shards_.size(); ++i) Host(static_cast<int>(i), static_cast<int>(models.size()));
  for (size_t i = 0; i < models.size(); ++i) Create(static_cast<int>(i), *models[i]);
}

void GrpcCluster::Host(int index, int num_workers) {
  HostedShard& hosted = shards_[index];
  hosted.executor = std::make_unique<ThreadExecutor>("shard");
  hosted.shard = std::make_unique<Shard>(
      Shard::Options{.shard = ShardId(index),
                     .num_shards = static_cast<int>(shards_.size()),
                     .num_workers = num_workers,
                     .block_bytes = options_.block_bytes,
                     .optimizer = options_.optimizer,
                     .plan =
                         [this](int64_t) {
                           return ShardPlan{options_.schedule, options_.learning_rate};
                         }},
      *hosted.executor, Clock::Real(), index == 0 ? &coordinator_ : nullptr, [](const v1::Hello&) {},
      [this, index](const Ending& ending) { SetEnding(&GrpcCluster::shard_endings_, index, ending); });
  std::string& address = options_.addresses[index];
  absl::StatusOr<std::unique_ptr<GrpcServer>> server =
      GrpcServer::Start(address, *hosted.shard, *hosted.executor, absl::Seconds(60));
  CHECK_OK(server.status());
  hosted.server = *std::move(server);
  if (absl::EndsWith(address, ":0")) {
    address = absl::StrCat(absl::StripSuffix(address, "0"), hosted.server->port());
  }
  RunOn(*hosted.executor, [&hosted] { hosted.shard->Start(); });
}

void GrpcCluster::Create(int index, Model& model) {
  Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
  const WorkerId id(index);
  const Partition partition(model.layout(), static_cast<int>(shards_.size()), options_.block_bytes);
  worker.grpc = std::make_unique<GrpcShardChannels>(options_.addresses, worker.executor, absl::Seconds(60));
  worker.channels = std::make_unique<TappedChannels>(
      *worker.grpc, [this, index](const v1::Block& block, std::span<const float> values) {
        if (options_.received) options_.received(index, block, values);
      });
  worker.client = std::make_unique<ParameterClient>(
      ParameterClient::Options{
          .worker = id, .incarnation = Incarnation(1), .shard_names = options_.addresses},
      partition, *worker.channels, worker.executor, Clock::Real(),
      [this, index](const Ending& ending) { SetEnding(&GrpcCluster::worker_endings_, index, ending); });
  if (options_.update.has_value()) {
    worker.update.emplace(*options_.update, partition, options_.schedule, options_.learning_rate,
                          model.memory());
  }
  worker.batches = std::make_unique<EmptyBatches>(worker.executor);
  worker.trainer = std::make_unique<Trainer>(
      Trainer::Options{.worker = id}, model, *worker.batches, /*evaluator=*/nullptr, *worker.client,
      options_.schedule, worker.update.has_value() ? &*worker.update : nullptr, Clock::Real());
  if (options_.step_done) {
    worker.trainer->set_step_done([this, index](Step step) { options_.step_done(index, step); });
  }
}

void GrpcCluster::SetEnding(std::vector<std::optional<Ending>> GrpcCluster::*endings, int index,
                            const Ending& ending) {
  MutexLock lock(&mutex_);
  (this->*endings)[index] = ending;
  ended_.NotifyAll();
}

void GrpcCluster::Start() {
  for (const std::unique_ptr<Worker>& worker : workers_) {
    worker->executor.Post([trainer = worker->trainer.get()] {
      trainer->Start([](std::span<const float>) { return Ending{}; });
    });
  }
}

bool GrpcCluster::WaitForEnd(absl::Duration timeout) {
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout);
  MutexLock lock(&mutex_);
  const auto all_ended = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i]->trainer != nullptr && !worker_endings_[i].has_value()) return false;
    }
    return std::all_of(shard_endings_.begin(), shard_endings_.end(),
                       [](const auto& ending) { return ending.has_value(); });
  };
  while (!all_ended()) {
    if (!ended_.WaitUntil(&mutex_, deadline)) return all_ended();
  }
  return true;
}

void GrpcCluster::Release(Worker& worker) {
  RunOn(worker.executor, [&worker] {
    worker.trainer.reset();
    worker.batches.reset();
    worker.client.reset();
  });
}

void GrpcCluster::KillWorker(int worker) { Release(*workers_[worker]); }

Ending GrpcCluster::worker_ending(int worker) const {
  MutexLock lock(&mutex_);
  return *worker_endings_[worker];
}

Ending GrpcCluster::shard_ending(int shard) const {
  MutexLock lock(&mutex_);
  return *shard_endings_[shard];
}

GrpcCluster::~GrpcCluster() {
  for (const std::unique_ptr<Worker>& worker : workers_) Release(*worker);
  for (const std::unique_ptr<Worker>& worker : workers_) {
    EXPECT_TRUE(worker->grpc->WaitUntilDone(kGrace)) << "a worker's stream does not end";
  }
  for (HostedShard& hosted : shards_) hosted.server->Shutdown(kGrace);
  // What the last streams left on the executors runs before those end.
  for (HostedShard& hosted : shards_) RunOn(*hosted.executor, [] {});
}

}  // namespace ssd::testing
