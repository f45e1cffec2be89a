// A worker's connection to one shard.
#ifndef SSD_WORKER_SHARD_CHANNEL_H_
#define SSD_WORKER_SHARD_CHANNEL_H_

#include <memory>

#include "absl/status/status.h"
#include "common/types.h"
#include "common/wire/frame.h"

namespace ssd {

// Used on the worker's executor alone. Nothing blocks.
class ShardChannel {
 public:
  // Called on the worker's executor, never inside a call of the channel, and never after the channel is gone.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnFrame(ShardId shard, ServerFrame frame) = 0;
    // The stream has ended, and how; the last call.
    virtual void OnClosed(ShardId shard, const absl::Status& status) = 0;
  };

  virtual ~ShardChannel() = default;

  // Queues a frame. Dropped once the stream has ended.
  virtual void Send(WorkerFrame frame) = 0;

  // No frame follows: the shard sees the end once the queue is sent, and ends the stream.
  virtual void HalfClose() = 0;
};

class ShardChannelFactory {
 public:
  virtual ~ShardChannelFactory() = default;
  // Begins to connect; frames sent meanwhile wait. A shard that is not there yet is tried again until the
  // channel goes.
  virtual std::unique_ptr<ShardChannel> Open(ShardId shard, ShardChannel::Listener& listener) = 0;
};

}  // namespace ssd

#endif  // SSD_WORKER_SHARD_CHANNEL_H_
