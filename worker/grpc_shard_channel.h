// A worker's streams on gRPC.
#ifndef SSD_WORKER_GRPC_SHARD_CHANNEL_H_
#define SSD_WORKER_GRPC_SHARD_CHANNEL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/buffer.h"
#include "common/executor.h"
#include "common/mutex.h"
#include "worker/shard_channel.h"

namespace ssd {

// Opens streams to the shards at `addresses` (host:port or unix:/path), one connection each. The executor
// runs until all streams are done.
class GrpcShardChannels : public ShardChannelFactory {
 public:
  GrpcShardChannels(std::vector<std::string> addresses, Executor& executor, absl::Duration peer_timeout);

  std::unique_ptr<ShardChannel> Open(ShardId shard, ShardChannel::Listener& listener) override;

  // Waits until no stream is left, at most for `timeout`. False: some are. REQUIRES: the channels have gone,
  // and the caller is not the executor.
  bool WaitUntilDone(absl::Duration timeout);

  // For the streams alone.
  void StreamDone();
  BufferPool& pool() { return pool_; }
  Executor& executor() { return executor_; }

 private:
  const std::vector<std::string> addresses_;
  Executor& executor_;
  const absl::Duration peer_timeout_;
  BufferPool pool_;
  Mutex mutex_;
  CondVar done_;
  int open_streams_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ssd

#endif  // SSD_WORKER_GRPC_SHARD_CHANNEL_H_
