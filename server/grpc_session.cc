#include "server/grpc_session.h"

#include <utility>

#include "common/wire/grpc_frame.h"

namespace ssd {

GrpcSession::GrpcSession(Call call, Shard& shard, Executor& executor, BufferPool& pool)
    : call_(std::move(call)), shard_(shard), executor_(executor), pool_(pool) {
  executor_.Post([this] { session_ = &shard_.Open(*this); });
  StartRead(&incoming_);
}

void GrpcSession::OnReadDone(bool ok) {
  if (!ok) {
    executor_.Post([this] { EndSession(absl::UnavailableError("the stream ended without a goodbye")); });
    return;
  }
  if (std::exchange(first_, false)) {
    executor_.Post([this] {
      absl::StatusOr<WorkerFrame> frame = HeaderFromByteBuffer<v1::WorkerHeader>(incoming_);
      incoming_.Clear();
      HandOver(std::move(frame), kMaxInbox);
    });
    CountAndReadOn(kMaxInbox);
    return;
  }
  const size_t bytes = incoming_.Length();
  absl::StatusOr<WorkerFrame> frame = FromByteBuffer<v1::WorkerHeader>(incoming_, pool_);
  incoming_.Clear();
  const bool is_frame = frame.ok();
  const int weight = is_frame && bytes - frame->payload.size_bytes() > kSmallHeaderBytes ? kMaxInbox : 1;
  executor_.Post([this, frame = std::move(frame), weight]() mutable { HandOver(std::move(frame), weight); });
  // Bytes that are no frame are the last that is read from this peer.
  if (is_frame) CountAndReadOn(weight);
}

// After the frame is posted, or the next one, read on another thread, could be posted before it.
void GrpcSession::CountAndReadOn(int weight) {
  if (inbox_.fetch_add(weight) + weight < kMaxInbox) StartRead(&incoming_);
}

void GrpcSession::HandOver(absl::StatusOr<WorkerFrame> frame, int weight) {
  if (session_ == nullptr) return;
  if (!frame.ok()) {
    EndSession(frame.status());
    return;
  }
  session_->OnFrame(*std::move(frame), [this, weight] { Consumed(weight); });
}

void GrpcSession::Consumed(int weight) {
  // A full inbox has no read in flight, and whoever makes room first starts it.
  const int before = inbox_.fetch_sub(weight);
  if (before >= kMaxInbox && before - weight < kMaxInbox && !closing_.has_value()) StartRead(&incoming_);
}

void GrpcSession::EndSession(const absl::Status& status) {
  if (session_ != nullptr) std::exchange(session_, nullptr)->OnStreamEnd(status);
  Close(status);
}

void GrpcSession::Send(ServerFrame frame) {
  if (closing_.has_value()) return;
  if (const grpc::ByteBuffer* next = outbox_.Push(ToByteBuffer(frame)); next != nullptr) StartWrite(next);
}

void GrpcSession::OnWriteDone(bool ok) {
  if (!ok) outbox_.Abandon();
  const grpc::ByteBuffer* next = outbox_.WriteDone();
  if (next != nullptr) {
    StartWrite(next);
  } else {
    executor_.Post([this] { FinishIfDrained(); });
  }
}

void GrpcSession::Close(const absl::Status& status) {
  if (!closing_.has_value()) {
    closing_ = status;
    // A peer that reads nothing takes neither the queue nor the status.
    executor_.PostAfter(kCloseTimeout, [this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) call_.cancel();
    });
  }
  FinishIfDrained();
}

void GrpcSession::Cancel(const absl::Status& status) {
  outbox_.Abandon();
  call_.cancel();
  Close(status);
}

void GrpcSession::FinishIfDrained() {
  if (finished_ || !closing_.has_value() || !outbox_.empty()) return;
  finished_ = true;
  Finish(ToGrpcStatus(*closing_));
}

void GrpcSession::OnCancel() {
  outbox_.Abandon();
  executor_.Post([this] { EndSession(absl::UnavailableError("the connection is gone")); });
}

void GrpcSession::OnDone() {
  call_.on_done();
  // Behind all that was posted before: nothing refers to this stream any more.
  executor_.Post([this] {
    if (session_ != nullptr)
      std::exchange(session_, nullptr)->OnStreamEnd(absl::UnavailableError("the stream ended"));
    delete this;
  });
}

}  // namespace ssd
