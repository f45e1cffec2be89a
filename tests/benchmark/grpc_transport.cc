#include "tests/benchmark/grpc_transport.h"

#include <latch>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/exit_code.h"
#include "common/logging.h"

namespace ssd::benchmarks {
namespace {

constexpr int kShards = 2;
constexpr absl::Duration kTimeout = absl::Seconds(60);

ModelLayout LayoutOfSize(int64_t floats) {
  ModelLayout layout;
  layout.parameters.Add("weights", {floats});
  return layout;
}

void RunOn(Executor& executor, const std::function<void()>& task) {
  std::latch ran(1);
  executor.Post([&] {
    task();
    ran.count_down();
  });
  ran.wait();
}

}  // namespace

GrpcTransport::GrpcTransport(const Options& options)
    : options_(options),
      layout_(LayoutOfSize(options.floats)),
      partition_(layout_, kShards, /*block_bytes=*/std::nullopt),
      schedule_(std::make_shared<SyncSchedule>(SyncScheduleOptions{
          .k = options.period, .pull_overlap = 0, .total_steps = options.period * options.periods})),
      values_(Buffer::Copy(std::vector<float>(options.floats, 1e-3f))),
      coordinator_(options.workers, observer_),
      shards_(kShards),
      next_step_(0) {
  for (int i = 0; i < kShards; ++i) Host(i);
  for (int i = 0; i < options.workers; ++i) Connect(i);
  JoinAll();
}

GrpcTransport::~GrpcTransport() {
  // Who says goodbye before the last step is not done, but lost.
  while (next_step_ < schedule_->end()) PushPeriod();
  OnEachWorker([](Worker& worker, std::function<void()> done) {
    worker.ended = std::move(done);
    worker.client->End({.code = kExitDone});
  });
  for (const std::unique_ptr<Worker>& worker : workers_)
    RunOn(worker->executor, [&worker] { worker->client.reset(); });
  for (const std::unique_ptr<Worker>& worker : workers_) CHECK(worker->channels->WaitUntilDone(kTimeout));
  for (HostedShard& hosted : shards_) hosted.server->Shutdown(kTimeout);
  // What the last streams left on the executors runs before those end.
  for (HostedShard& hosted : shards_) RunOn(*hosted.executor, [] {});
}

void GrpcTransport::Host(int index) {
  HostedShard& hosted = shards_[index];
  hosted.executor = std::make_unique<ThreadExecutor>("shard");
  const auto learning_rate = std::make_shared<LearningRate>(LearningRateOptions{.base = 1e-3});
  hosted.shard = std::make_unique<Shard>(
      Shard::Options{.shard = ShardId(index),
                     .num_shards = kShards,
                     .num_workers = options_.workers,
                     .plan =
                         [this, learning_rate](int64_t) {
                           return ShardPlan{schedule_, learning_rate};
                         }},
      *hosted.executor, Clock::Real(), index == 0 ? &coordinator_ : nullptr, [](const v1::Hello&) {},
      [](const Ending&) {});
  absl::StatusOr<std::unique_ptr<GrpcServer>> server =
      GrpcServer::Start("127.0.0.1:0", *hosted.shard, *hosted.executor, kTimeout);
  CHECK_OK(server.status());
  hosted.server = *std::move(server);
  addresses_.push_back(absl::StrCat("127.0.0.1:", hosted.server->port()));
  RunOn(*hosted.executor, [&hosted] { hosted.shard->Start(); });
}

void GrpcTransport::Connect(int index) {
  Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
  worker.channels = std::make_unique<GrpcShardChannels>(addresses_, worker.executor, kTimeout);
  worker.client = std::make_unique<ParameterClient>(
      ParameterClient::Options{
          .worker = WorkerId(index), .incarnation = Incarnation(1), .shard_names = addresses_},
      partition_, *worker.channels, worker.executor, Clock::Real(), [&worker](const Ending& ending) {
        CHECK_EQ(ending.code, kExitDone) << ending.message;
        worker.ended();
      });
}

void GrpcTransport::JoinAll() {
  v1::Hello hello;
  hello.set_samples_per_epoch(1);
  v1::Hello::Tensor* tensor = hello.add_parameters();
  tensor->set_name("weights");
  tensor->add_shape(static_cast<uint64_t>(options_.floats));
  OnEachWorker(
      [&](Worker& worker, std::function<void()> done) { worker.client->Join(hello, std::move(done)); });
  Worker& first = *workers_.front();
  RunOn(first.executor, [&] {
    for (const Block& block : partition_.blocks()) {
      first.client->SendInitial(block.id, values_.Slice(block.offset, block.size));
    }
  });
  // Without version 0 a push is too early.
  OnEachWorker([&](Worker& worker, std::function<void()> done) {
    worker.client->Pull(Version(0), LastBlocks());
    worker.client->Await(Version(0), [done = std::move(done)](Version, auto) { done(); });
  });
}

void GrpcTransport::OnEachWorker(
    const std::function<void(Worker& worker, std::function<void()> done)>& task) {
  std::latch all_done(static_cast<std::ptrdiff_t>(workers_.size()));
  for (const std::unique_ptr<Worker>& worker : workers_) {
    worker->executor.Post([&] { task(*worker, [&all_done] { all_done.count_down(); }); });
  }
  all_done.wait();
}

std::vector<BlockId> GrpcTransport::LastBlocks() const {
  std::vector<std::optional<BlockId>> last(kShards);
  for (const Block& block : partition_.blocks()) last[block.shard.value()] = block.id;
  std::vector<BlockId> blocks;
  for (const std::optional<BlockId>& id : last) blocks.push_back(*id);
  return blocks;
}

void GrpcTransport::PushPeriod() {
  const Step first = next_step_;
  next_step_ = next_step_ + options_.period;
  OnEachWorker([&, first](Worker& worker, std::function<void()> done) {
    for (Step step = first; step < next_step_; ++step) {
      for (const Block& block : partition_.blocks()) {
        worker.client->Push(block.id, step, values_.Slice(block.offset, block.size));
      }
    }
    const Version version(next_step_.value());
    worker.client->Pull(version, LastBlocks());
    worker.client->Await(version, [done = std::move(done)](Version, auto) { done(); });
  });
}

void GrpcTransport::Pull() {
  std::vector<BlockId> blocks;
  for (const Block& block : partition_.blocks()) blocks.push_back(block.id);
  OnEachWorker([&](Worker& worker, std::function<void()> done) {
    worker.client->Pull(Version(0), blocks);
    worker.client->Await(Version(0), [done = std::move(done)](Version, auto) { done(); });
  });
}

}  // namespace ssd::benchmarks
