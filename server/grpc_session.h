// One worker's stream on gRPC: moves frames between it and a Session, and decides nothing.
#ifndef SSD_SERVER_GRPC_SESSION_H_
#define SSD_SERVER_GRPC_SESSION_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "common/buffer.h"
#include "common/executor.h"
#include "common/wire/frame_queue.h"
#include "server/frame_sink.h"
#include "server/shard.h"

namespace ssd {

// Deletes itself when the stream is done.
//
// Threads: reactions run on gRPC's threads; the session and the FrameSink calls on the shard's executor.
// Finish is called on the executor alone.
//
// Memory: reading stops while kMaxInbox frames wait for the session, and goes on when it has taken them. A frame
// with a large header counts as all of them, and so does the first one, which is parsed on the executor, that is,
// one stranger's at a time, and has to be without a payload. A stream that is closed and whose peer takes nothing
// more is cancelled after kCloseTimeout.
class GrpcSession : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>, private FrameSink {
 public:
  static constexpr absl::Duration kCloseTimeout = absl::Seconds(3);

  struct Call {
    // Ends the call at once. Called on the executor, at any time before the deletion.
    absl::AnyInvocable<void()> cancel;
    // Called on one of gRPC's threads when the stream is done.
    absl::AnyInvocable<void()> on_done;
  };

  // All that is given outlives the stream; the executor runs until all streams are done.
  GrpcSession(Call call, Shard& shard, Executor& executor, BufferPool& pool);

 private:
  static constexpr int kMaxInbox = 16;
  static constexpr size_t kSmallHeaderBytes = 4 << 10;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void Send(ServerFrame frame) override;
  void Close(const absl::Status& status) override;
  void Cancel(const absl::Status& status) override;
  size_t queued_bytes() const override { return outbox_.queued_bytes(); }

  // Counts a frame that is posted and starts the next read if there is room.
  void CountAndReadOn(int weight);
  void HandOver(absl::StatusOr<WorkerFrame> frame, int weight);
  void Consumed(int weight);
  void EndSession(const absl::Status& status);
  void FinishIfDrained();

  Call call_;
  Shard& shard_;
  Executor& executor_;
  BufferPool& pool_;

  grpc::ByteBuffer incoming_;  // the read in flight; the first frame until it is parsed
  bool first_ = true;          // no frame was read yet
  // Frames read and not taken by the session; below 0 for a moment when it is faster than the count. At kMaxInbox
  // nothing is read.
  std::atomic<int> inbox_ = 0;
  FrameQueue<grpc::ByteBuffer> outbox_;

  // On the executor.
  Session* session_ = nullptr;           // null once the stream has ended
  std::optional<absl::Status> closing_;  // to finish with, once the outbox is empty
  bool finished_ = false;
  // Gone with this object: the timer of Close may outlive it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ssd

#endif  // SSD_SERVER_GRPC_SESSION_H_
