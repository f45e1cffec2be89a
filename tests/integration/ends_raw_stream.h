// One Session with a shard, spoken by hand: correctly, or with any bytes whatever. The one place of the tests
// that knows gRPC.
#ifndef SSD_TESTS_INTEGRATION_ENDS_RAW_STREAM_H_
#define SSD_TESTS_INTEGRATION_ENDS_RAW_STREAM_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/wire/frame.h"

namespace ssd {

// Blocks, with a deadline. Not thread-safe.
class RawStream {
 public:
  // Connects to `address` and opens the stream; waits until the shard is there.
  explicit RawStream(const std::string& address);
  // Breaks the stream off.
  ~RawStream();

  // One message of the stream. False: the stream has ended.
  bool SendBytes(const std::string& bytes);
  bool Send(const WorkerFrame& frame);

  // The next frame from the shard. None: the stream has ended, or nothing came before the deadline.
  std::optional<ServerFrame> Read();

  // Reads until the stream ends. DeadlineExceeded: it does not.
  absl::Status ReadToTheEnd();

 private:
  struct Call;
  std::unique_ptr<Call> call_;
};

}  // namespace ssd

#endif  // SSD_TESTS_INTEGRATION_ENDS_RAW_STREAM_H_
