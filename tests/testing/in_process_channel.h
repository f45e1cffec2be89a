// Connects workers and shards of one process without gRPC: frames travel as they are, in order, one task
// each.
#ifndef SSD_TESTS_TESTING_IN_PROCESS_CHANNEL_H_
#define SSD_TESTS_TESTING_IN_PROCESS_CHANNEL_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "common/executor.h"
#include "server/shard.h"
#include "worker/shard_channel.h"

namespace ssd::testing {

// One stream: the worker's channel and the shard's sink. Frames wait in the executor; each end checks, when a
// frame arrives, that the other has not gone.
class InProcessStream : public std::enable_shared_from_this<InProcessStream> {
 public:
  InProcessStream(ShardId id, Shard& shard, ShardChannel::Listener& listener, Executor& executor)
      : id_(id), listener_(&listener), executor_(executor), sink_(*this), session_(&shard.Open(sink_)) {}

  void ToShard(WorkerFrame frame) {
    executor_.Post([self = shared_from_this(), frame = std::move(frame)]() mutable {
      if (self->session_ != nullptr) self->session_->OnFrame(std::move(frame), [] {});
    });
  }
  void HalfClose() {
    executor_.Post([self = shared_from_this()] { self->EndSession(absl::OkStatus()); });
  }
  // The worker has gone without a word.
  void Detach() {
    listener_ = nullptr;
    executor_.Post(
        [self = shared_from_this()] { self->EndSession(absl::UnavailableError("the worker has gone")); });
  }

 private:
  struct Sink : FrameSink {
    explicit Sink(InProcessStream& stream) : stream(stream) {}
    void Send(ServerFrame frame) override {
      if (closed) return;
      stream.executor_.Post([self = stream.shared_from_this(), frame = std::move(frame)]() mutable {
        if (self->listener_ != nullptr) self->listener_->OnFrame(self->id_, std::move(frame));
      });
    }
    void Close(const absl::Status& status) override {
      if (closed) return;
      closed = true;
      stream.executor_.Post([self = stream.shared_from_this(), status] {
        self->EndSession(status);
        if (self->listener_ != nullptr) std::exchange(self->listener_, nullptr)->OnClosed(self->id_, status);
      });
    }
    void Cancel(const absl::Status& status) override { Close(status); }
    size_t queued_bytes() const override { return 0; }

    InProcessStream& stream;
    bool closed = false;
  };

  void EndSession(const absl::Status& status) {
    if (session_ != nullptr) std::exchange(session_, nullptr)->OnStreamEnd(status);
    sink_.Close(status);
  }

  const ShardId id_;
  ShardChannel::Listener* listener_;
  Executor& executor_;
  Sink sink_;
  Session* session_;
};

// What a test sees of the frames as they are sent. Either may be empty.
struct FrameTap {
  std::function<void(ShardId, const WorkerFrame&)> to_shard;
};

// Where the frames of the next stream wait; none: in the executor of all else.
using StreamExecutors = std::function<Executor&()>;

class InProcessChannels : public ShardChannelFactory {
 public:
  InProcessChannels(std::vector<Shard*> shards, Executor& executor, FrameTap tap = {},
                    StreamExecutors streams = {})
      : shards_(std::move(shards)), executor_(executor), tap_(std::move(tap)), streams_(std::move(streams)) {}

  std::unique_ptr<ShardChannel> Open(ShardId shard, ShardChannel::Listener& listener) override {
    Executor& executor = streams_ ? streams_() : executor_;
    return std::make_unique<Channel>(
        shard, std::make_shared<InProcessStream>(shard, *shards_[shard.value()], listener, executor), tap_);
  }

 private:
  class Channel : public ShardChannel {
   public:
    Channel(ShardId shard, std::shared_ptr<InProcessStream> stream, const FrameTap& tap)
        : shard_(shard), stream_(std::move(stream)), tap_(tap) {}
    ~Channel() override { stream_->Detach(); }
    void Send(WorkerFrame frame) override {
      if (tap_.to_shard) tap_.to_shard(shard_, frame);
      stream_->ToShard(std::move(frame));
    }
    void HalfClose() override { stream_->HalfClose(); }

   private:
    const ShardId shard_;
    const std::shared_ptr<InProcessStream> stream_;
    const FrameTap& tap_;
  };

  const std::vector<Shard*> shards_;
  Executor& executor_;
  const FrameTap tap_;
  const StreamExecutors streams_;
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_TESTING_IN_PROCESS_CHANNEL_H_
