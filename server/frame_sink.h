// The sending half of one worker's stream, as a session sees it.
#ifndef SSD_SERVER_FRAME_SINK_H_
#define SSD_SERVER_FRAME_SINK_H_

#include <cstddef>

#include "absl/status/status.h"
#include "common/wire/frame.h"

namespace ssd {

// Called on the shard's executor. Nothing blocks, and nothing calls the session before it returns.
class FrameSink {
 public:
  virtual ~FrameSink() = default;

  // Queues a frame. Dropped after Close and after the stream has ended.
  virtual void Send(ServerFrame frame) = 0;

  // Ends the stream with `status` once the queue is sent.
  virtual void Close(const absl::Status& status) = 0;

  // Ends the stream now, whether the peer reads or not; what is queued is dropped. `status` is for a peer that
  // still gets it.
  virtual void Cancel(const absl::Status& status) = 0;

  // Bytes that are queued and not sent yet, with kQueuedMessageBytes for each frame.
  virtual size_t queued_bytes() const = 0;
};

}  // namespace ssd

#endif  // SSD_SERVER_FRAME_SINK_H_
