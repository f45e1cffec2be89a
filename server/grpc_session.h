// One worker's stream on gRPC: moves frames between it and a Session, and decides nothing.
#ifndef SSD_SERVER_GRPC_SESSION_H_
#define SSD_SERVER_GRPC_SESSION_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <optional>

#include "common/buffer.h"
#include "common/executor.h"
#include "common/wire/frame_queue.h"
#include "server/frame_sink.h"
#include "server/shard.h"

namespace ssd {

// Deletes itself when the stream is done.
//
// Threads: reactions run on gRPC's threads; the session and the FrameSink calls on the shard's executor.
// Finish is called on the executor alone. Reading stops while kMaxInbox frames wait for the session, and goes
// on when it has taken them.
class GrpcSession : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>, private FrameSink {
 public:
  // All that is given outlives the stream; the executor runs until all streams are done.
  GrpcSession(Shard& shard, Executor& executor, BufferPool& pool);

 private:
  static constexpr int kMaxInbox = 16;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void Send(ServerFrame frame) override;
  void Close(const absl::Status& status) override;
  size_t queued_bytes() const override { return outbox_.queued_bytes(); }

  void HandOver(absl::StatusOr<WorkerFrame> frame);
  void Consumed();
  void EndSession(const absl::Status& status);
  void FinishIfDrained();

  Shard& shard_;
  Executor& executor_;
  BufferPool& pool_;

  grpc::ByteBuffer incoming_;  // the read in flight
  // Frames read and not taken by the session; -1 for a moment when it is faster than the count. At kMaxInbox
  // nothing is read.
  std::atomic<int> inbox_ = 0;
  FrameQueue<grpc::ByteBuffer> outbox_;

  // On the executor.
  Session* session_ = nullptr;           // null once the stream has ended
  std::optional<absl::Status> closing_;  // to finish with, once the outbox is empty
  bool finished_ = false;
};

}  // namespace ssd

#endif  // SSD_SERVER_GRPC_SESSION_H_
