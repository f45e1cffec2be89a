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

// One stream: the worker's channel and the shard's sink. Frames wait in the receiver's executor; each end
// checks, when a frame arrives, that the other has not gone.
//
// The shard's side is used by tasks of the shard's executor, the worker's by those of the worker's; the two
// may be one.
class InProcessStream : public std::enable_shared_from_this<InProcessStream> {
 public:
  static std::shared_ptr<InProcessStream> Open(ShardId id, Shard& shard, Executor& shard_executor,
                                               ShardChannel::Listener& listener, Executor& worker_executor) {
    const auto stream = std::make_shared<InProcessStream>(id, shard_executor, listener, worker_executor);
    shard_executor.Post([stream, &shard] { stream->session_ = &shard.Open(stream->sink_); });
    return stream;
  }
  InProcessStream(ShardId id, Executor& shard_executor, ShardChannel::Listener& listener,
                  Executor& worker_executor)
      : id_(id),
        listener_(&listener),
        shard_executor_(shard_executor),
        worker_executor_(worker_executor),
        sink_(*this) {}

  void ToShard(WorkerFrame frame) {
    shard_executor_.Post([self = shared_from_this(), frame = std::move(frame)]() mutable {
      if (self->session_ != nullptr) self->session_->OnFrame(std::move(frame), [] {});
    });
  }
  void HalfClose() {
    shard_executor_.Post([self = shared_from_this()] { self->EndSession(absl::OkStatus()); });
  }
  // The worker has gone without a word.
  void Detach() {
    listener_ = nullptr;
    shard_executor_.Post(
        [self = shared_from_this()] { self->EndSession(absl::UnavailableError("the worker has gone")); });
  }

 private:
  struct Sink : FrameSink {
    explicit Sink(InProcessStream& stream) : stream(stream) {}
    void Send(ServerFrame frame) override {
      if (closed) return;
      stream.worker_executor_.Post([self = stream.shared_from_this(), frame = std::move(frame)]() mutable {
        if (self->listener_ != nullptr) self->listener_->OnFrame(self->id_, std::move(frame));
      });
    }
    void Close(const absl::Status& status) override {
      if (closed) return;
      closed = true;
      stream.shard_executor_.Post([self = stream.shared_from_this(), status] { self->EndSession(status); });
      stream.worker_executor_.Post([self = stream.shared_from_this(), status] {
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
  ShardChannel::Listener* listener_;  // the worker's side; null: gone
  Executor& shard_executor_;
  Executor& worker_executor_;
  Sink sink_;                   // the shard's side
  Session* session_ = nullptr;  // the shard's side; null: not yet, or no more
};

// What a test sees of the frames as they are sent. Either may be empty.
struct FrameTap {
  std::function<void(ShardId, const WorkerFrame&)> to_shard;
};

// Where the frames of the next stream wait; none: in the executor of all else.
using StreamExecutors = std::function<Executor&()>;

class InProcessChannel : public ShardChannel {
 public:
  InProcessChannel(ShardId shard, std::shared_ptr<InProcessStream> stream, const FrameTap& tap)
      : shard_(shard), stream_(std::move(stream)), tap_(tap) {}
  ~InProcessChannel() override { stream_->Detach(); }
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

class InProcessChannels : public ShardChannelFactory {
 public:
  InProcessChannels(std::vector<Shard*> shards, Executor& executor, FrameTap tap = {},
                    StreamExecutors streams = {})
      : shards_(std::move(shards)), executor_(executor), tap_(std::move(tap)), streams_(std::move(streams)) {}

  std::unique_ptr<ShardChannel> Open(ShardId shard, ShardChannel::Listener& listener) override {
    Executor& executor = streams_ ? streams_() : executor_;
    return std::make_unique<InProcessChannel>(
        shard, InProcessStream::Open(shard, *shards_[shard.value()], executor, listener, executor), tap_);
  }

 private:
  const std::vector<Shard*> shards_;
  Executor& executor_;
  const FrameTap tap_;
  const StreamExecutors streams_;
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_TESTING_IN_PROCESS_CHANNEL_H_
