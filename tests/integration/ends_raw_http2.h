// A connection with a shard, in HTTP/2 by hand (RFC 9113): for peers that do what gRPC's own client cannot be made to do,
// such as to declare a message and send half of it, or to read nothing at all.
#ifndef SSD_TESTS_INTEGRATION_ENDS_RAW_HTTP2_H_
#define SSD_TESTS_INTEGRATION_ENDS_RAW_HTTP2_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace ssd {

// A gRPC message as it lies in DATA frames: "not compressed", the size that is declared, and what comes of it.
std::string MessageDeclaring(uint32_t size, absl::string_view bytes);

// Movable. Writes block, with a deadline; nothing that the shard sends is read.
class RawHttp2 {
 public:
  // `address`: unix:/path. Sends the preface and empty settings unless `silent`; never acknowledges the shard's.
  explicit RawHttp2(const std::string& address, bool silent = false);
  RawHttp2(RawHttp2&& other) noexcept;
  RawHttp2& operator=(RawHttp2&&) = delete;
  ~RawHttp2();

  // Calls Session on a stream: 1, 3, 5, ... False: the shard has closed the connection.
  bool OpenStream(uint32_t id);
  // One or more DATA frames. Keep to 65,535 bytes a connection: nobody reads that there may be more.
  bool SendData(uint32_t id, absl::string_view bytes);

  bool connected() const { return fd_ >= 0; }

 private:
  bool SendFrame(uint8_t type, uint8_t flags, uint32_t stream, absl::string_view payload);
  bool SendAll(absl::string_view bytes);

  int fd_ = -1;
};

}  // namespace ssd

#endif  // SSD_TESTS_INTEGRATION_ENDS_RAW_HTTP2_H_
