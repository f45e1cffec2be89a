// Workers that push and pull without training, and 2 shards, over gRPC on loopback in one process.
#ifndef SSD_TESTS_BENCHMARK_GRPC_TRANSPORT_H_
#define SSD_TESTS_BENCHMARK_GRPC_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/partition.h"
#include "server/coordinator.h"
#include "server/grpc_server.h"
#include "server/shard.h"
#include "worker/grpc_shard_channel.h"
#include "worker/parameter_client.h"

namespace ssd::benchmarks {

// Used by one thread. Aborts where something fails: a run on loopback has no reason to.
class GrpcTransport {
 public:
  struct Options {
    int workers = 1;
    int64_t floats = 0;   // of the model
    int64_t period = 1;   // pushes that PushPeriod makes of the whole model
    int64_t periods = 1;  // calls of PushPeriod
  };

  // All workers have joined, and the shards have version 0.
  explicit GrpcTransport(const Options& options);
  ~GrpcTransport();  // makes the periods that are left

  // Every worker pushes the whole model `period` times, at once and without waiting between them. Returns when the
  // shards have applied all of it.
  void PushPeriod();

  // Every worker pulls version 0 of the whole model. REQUIRES: no PushPeriod before.
  void Pull();

 private:
  // Members die in the reverse order, as in the programs.
  struct HostedShard {
    std::unique_ptr<Shard> shard;
    std::unique_ptr<ThreadExecutor> executor;
    std::unique_ptr<GrpcServer> server;
  };
  struct Worker {
    std::unique_ptr<GrpcShardChannels> channels;
    std::unique_ptr<ParameterClient> client;
    std::function<void()> ended;  // set by who ends it
    ThreadExecutor executor{"worker"};
  };
  class IgnoreReports : public RunObserver {
   public:
    absl::Status OnReport(const v1::Report&, int, int64_t) override { return absl::OkStatus(); }
    absl::Status OnEvaluation(const v1::Evaluated&) override { return absl::OkStatus(); }
  };

  void Host(int shard);
  void Connect(int worker);
  void JoinAll();
  // Runs `task` on each worker's executor; returns when every one has called `done`.
  void OnEachWorker(const std::function<void(Worker& worker, std::function<void()> done)>& task);
  // The last block of each shard, which is complete when all before it are.
  std::vector<BlockId> LastBlocks() const;

  const Options options_;
  const ModelLayout layout_;
  const Partition partition_;
  const std::shared_ptr<const SyncSchedule> schedule_;
  const Buffer values_;  // every push's payload
  IgnoreReports observer_;
  Coordinator coordinator_;
  std::vector<std::string> addresses_;
  std::vector<HostedShard> shards_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Step next_step_;
};

}  // namespace ssd::benchmarks

#endif  // SSD_TESTS_BENCHMARK_GRPC_TRANSPORT_H_
