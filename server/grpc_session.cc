#include "server/grpc_session.h"

#include <utility>

#include "common/wire/grpc_frame.h"

namespace ssd {

GrpcSession::GrpcSession(Shard& shard, Executor& executor, BufferPool& pool)
    : shard_(shard), executor_(executor), pool_(pool) {
  executor_.Post([this] { session_ = &shard_.Open(*this); });
  StartRead(&incoming_);
}

void GrpcSession::OnReadDone(bool ok) {
  if (!ok) {
    executor_.Post([this] { EndSession(absl::UnavailableError("the stream ended without a goodbye")); });
    return;
  }
  absl::StatusOr<WorkerFrame> frame = FromByteBuffer<v1::WorkerHeader>(incoming_, pool_);
  incoming_.Clear();
  const bool is_frame = frame.ok();
  executor_.Post([this, frame = std::move(frame)]() mutable { HandOver(std::move(frame)); });
  // Only now, or the next frame, read on another thread, could be posted before this one. Bytes that are no
  // frame are the last that is read from this peer.
  if (is_frame && inbox_.fetch_add(1) + 1 < kMaxInbox) StartRead(&incoming_);
}

void GrpcSession::HandOver(absl::StatusOr<WorkerFrame> frame) {
  if (session_ == nullptr) return;
  if (!frame.ok()) {
    EndSession(frame.status());
    return;
  }
  session_->OnFrame(*std::move(frame), [this] { Consumed(); });
}

void GrpcSession::Consumed() {
  // A full inbox has no read in flight, and whoever makes room first starts it.
  if (inbox_.fetch_sub(1) == kMaxInbox && !finished_) StartRead(&incoming_);
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
  if (!closing_.has_value()) closing_ = status;
  FinishIfDrained();
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
  // Behind all that was posted before: nothing refers to this stream any more.
  executor_.Post([this] {
    if (session_ != nullptr)
      std::exchange(session_, nullptr)->OnStreamEnd(absl::UnavailableError("the stream ended"));
    delete this;
  });
}

}  // namespace ssd
