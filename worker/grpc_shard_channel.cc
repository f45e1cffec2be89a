#include "worker/grpc_shard_channel.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/client_callback.h>

#include <chrono>
#include <utility>

#include "common/wire/frame_queue.h"
#include "common/wire/grpc_frame.h"

namespace ssd {
namespace {

constexpr char kMethod[] = "/ssd.v1.ParameterService/Session";

// One stream. Deletes itself when it is done; the channel refers to it until then.
//
// Threads: reactions run on gRPC's threads and post to the executor; all else runs on the executor. A hold
// keeps the stream from being done while the executor may still start operations.
class Stream : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(ShardId shard, ShardChannel::Listener& listener, GrpcShardChannels& owner,
         std::shared_ptr<grpc::Channel> channel)
      : shard_(shard), listener_(&listener), owner_(owner), stub_(std::move(channel)) {
    context_.set_wait_for_ready(true);
    stub_.PrepareBidiStreamingCall(&context_, kMethod, grpc::StubOptions(), this);
    AddHold();
    StartRead(&incoming_);
    StartCall();
  }

  void Send(const WorkerFrame& frame) {
    if (ended_ || half_closing_) return;
    if (const grpc::ByteBuffer* next = outbox_.Push(ToByteBuffer(frame)); next != nullptr) StartWrite(next);
  }

  void HalfClose() {
    half_closing_ = true;
    HalfCloseIfDrained();
  }

  // The channel goes: nobody listens any more.
  void Detach() {
    listener_ = nullptr;
    context_.TryCancel();
  }

  void set_gone(bool* gone) { gone_ = gone; }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) {
      // No operation starts from the executor after this.
      owner_.executor().Post([this] {
        ended_ = true;
        RemoveHold();
      });
      return;
    }
    absl::StatusOr<ServerFrame> frame = FromByteBuffer<v1::ServerHeader>(incoming_, owner_.pool());
    incoming_.Clear();
    if (!malformed_.ok()) {
      // What arrived before the cancellation took effect is no news any more.
    } else if (!frame.ok()) {
      malformed_ = frame.status();
      context_.TryCancel();
    } else {
      owner_.executor().Post([this, frame = *std::move(frame)]() mutable {
        if (listener_ != nullptr) listener_->OnFrame(shard_, std::move(frame));
      });
    }
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) outbox_.Abandon();
    const grpc::ByteBuffer* next = outbox_.WriteDone();
    if (next != nullptr) {
      StartWrite(next);
    } else if (ok) {
      owner_.executor().Post([this] { HalfCloseIfDrained(); });
    }
  }

  void OnDone(const grpc::Status& status) override {
    owner_.executor().Post([this, status] {
      if (listener_ != nullptr) {
        std::exchange(listener_, nullptr)
            ->OnClosed(shard_, malformed_.ok() ? FromGrpcStatus(status) : malformed_);
      }
      if (gone_ != nullptr) *gone_ = true;
      GrpcShardChannels& owner = owner_;
      delete this;
      owner.StreamDone();
    });
  }

  void HalfCloseIfDrained() {
    if (!half_closing_ || ended_ || half_closed_ || !outbox_.empty()) return;
    half_closed_ = true;
    StartWritesDone();
  }

  const ShardId shard_;
  ShardChannel::Listener* listener_;
  GrpcShardChannels& owner_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer incoming_;  // the read in flight
  FrameQueue<grpc::ByteBuffer> outbox_;
  absl::Status malformed_;  // why the stream is cancelled; of OnReadDone, and OnDone after it
  bool half_closing_ = false;
  bool half_closed_ = false;
  bool ended_ = false;
  bool* gone_ = nullptr;  // the channel's; told when this stream is deleted
};

class Channel : public ShardChannel {
 public:
  explicit Channel(Stream* stream) : stream_(stream) { stream_->set_gone(&gone_); }
  ~Channel() override {
    if (gone_) return;
    stream_->set_gone(nullptr);
    stream_->Detach();
  }
  void Send(WorkerFrame frame) override {
    if (!gone_) stream_->Send(frame);
  }
  void HalfClose() override {
    if (!gone_) stream_->HalfClose();
  }

 private:
  Stream* const stream_;
  bool gone_ = false;  // the stream is deleted
};

}  // namespace

GrpcShardChannels::GrpcShardChannels(std::vector<std::string> addresses, Executor& executor,
                                     absl::Duration peer_timeout)
    : addresses_(std::move(addresses)), executor_(executor), peer_timeout_(peer_timeout) {}

std::unique_ptr<ShardChannel> GrpcShardChannels::Open(ShardId shard, ShardChannel::Listener& listener) {
  grpc::ChannelArguments arguments;
  for (const GrpcArgument& argument : GrpcArguments(peer_timeout_))
    arguments.SetInt(argument.name, argument.value);
  {
    MutexLock lock(&mutex_);
    ++open_streams_;
  }
  return std::make_unique<Channel>(new Stream(
      shard, listener, *this,
      grpc::CreateCustomChannel(addresses_[shard.value()], grpc::InsecureChannelCredentials(), arguments)));
}

void GrpcShardChannels::StreamDone() {
  MutexLock lock(&mutex_);
  --open_streams_;
  done_.NotifyAll();
}

bool GrpcShardChannels::WaitUntilDone(absl::Duration timeout) {
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout);
  MutexLock lock(&mutex_);
  while (open_streams_ > 0) {
    if (!done_.WaitUntil(&mutex_, deadline)) return open_streams_ == 0;
  }
  return true;
}

}  // namespace ssd
