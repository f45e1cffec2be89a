// A whole cluster in one process over real gRPC: every shard and every worker on a thread of its own, as in
// the programs, with a port or a socket a shard.
#ifndef SSD_TESTS_TESTING_GRPC_CLUSTER_H_
#define SSD_TESTS_TESTING_GRPC_CLUSTER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/exit_code.h"
#include "common/mutex.h"
#include "server/coordinator.h"
#include "server/grpc_server.h"
#include "server/shard.h"
#include "tests/testing/cluster.h"
#include "tests/testing/golden.h"
#include "worker/grpc_shard_channel.h"
#include "worker/trainer.h"

namespace ssd::testing {

// Runs `task` on the executor, and returns when it has run.
void RunOn(Executor& executor, absl::AnyInvocable<void()> task);

// Used by the test's thread alone, but for what the workers' threads call.
class GrpcCluster {
 public:
  struct Options {
    std::vector<std::string> addresses;  // one a shard: unix:/path, or 127.0.0.1:0 for a free port
    std::optional<int64_t> block_bytes;
    OptimizerOptions optimizer;
    std::shared_ptr<const SyncSchedule> schedule;
    std::shared_ptr<const LearningRate> learning_rate;
    std::optional<LocalUpdateOptions> update;  // none: ssgd
    // On the worker's thread: the end of a step, and a block that the worker has received. May be empty.
    std::function<void(int worker, Step step)> step_done;
    std::function<void(int worker, const v1::Block& block, std::span<const float> values)> received;
  };

  // One worker a model; the models need no batches, and outlive the cluster. The shards listen when this
  // returns.
  GrpcCluster(Options options, const std::vector<Model*>& models);
  // Lets go of the workers, then of the shards. Fails the test where a stream does not end.
  ~GrpcCluster();

  // The workers begin.
  void Start();
  // Waits until all workers that live and all shards have ended. False: not within `timeout`.
  bool WaitForEnd(absl::Duration timeout);
  // The worker's streams break off without a word.
  void KillWorker(int worker);

  // REQUIRES: it has ended.
  Ending worker_ending(int worker) const;
  Ending shard_ending(int shard) const;

  // With the ports that were free.
  const std::vector<std::string>& addresses() const { return options_.addresses; }
  // Arrays that were allocated so far: for a worker's received blocks, for a shard's received gradients, and
  // for a shard's own work.
  int64_t worker_allocations(int worker) const { return workers_[worker]->grpc->pool().allocations(); }
  int64_t server_allocations(int shard) const { return shards_[shard].server->allocations(); }
  int64_t shard_allocations(int shard) const { return shards_[shard].shard->allocations(); }

 private:
  // Members die in the reverse order, as in ssd-server.
  struct HostedShard {
    std::unique_ptr<Shard> shard;
    std::unique_ptr<ThreadExecutor> executor;
    std::unique_ptr<GrpcServer> server;
  };
  struct Worker {
    std::unique_ptr<GrpcShardChannels> grpc;
    std::unique_ptr<ShardChannelFactory> channels;
    std::unique_ptr<ParameterClient> client;
    std::optional<LocalUpdate> update;
    std::unique_ptr<BatchSource> batches;
    std::unique_ptr<Trainer> trainer;
    ThreadExecutor executor{"worker"};
  };

  void Host(int shard, int num_workers);
  void Create(int worker, Model& model);
  void SetEnding(std::vector<std::optional<Ending>> GrpcCluster::*endings, int index, const Ending& ending);
  void Release(Worker& worker);

  Options options_;
  RecordingObserver observer_;
  Coordinator coordinator_;
  std::vector<HostedShard> shards_;
  std::vector<std::unique_ptr<Worker>> workers_;

  mutable Mutex mutex_;
  CondVar ended_;
  std::vector<std::optional<Ending>> worker_endings_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::optional<Ending>> shard_endings_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_TESTING_GRPC_CLUSTER_H_
