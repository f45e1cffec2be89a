#include "tests/integration/ends_raw_http2.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace ssd {
namespace {

constexpr uint8_t kData = 0, kHeaders = 1, kSettings = 4;
constexpr uint8_t kEndHeaders = 4;
constexpr size_t kMaxFrameBytes = 16'384;  // what any peer has to take

std::string BigEndian(uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}

// A header field as a literal without indexing, without Huffman's code (RFC 7541, 6.2.2).
std::string Field(absl::string_view name, absl::string_view value) {
  return absl::StrCat(std::string(1, '\0'), std::string(1, static_cast<char>(name.size())), name,
                      std::string(1, static_cast<char>(value.size())), value);
}

}  // namespace

std::string MessageDeclaring(uint32_t size, absl::string_view bytes) {
  return absl::StrCat(std::string(1, '\0'), BigEndian(size, 4), bytes);
}

RawHttp2::RawHttp2(const std::string& address, bool silent) {
  const std::string path(absl::StripPrefix(address, "unix:"));
  sockaddr_un to = {};
  to.sun_family = AF_UNIX;
  if (path.size() >= sizeof to.sun_path) return;
  std::memcpy(to.sun_path, path.data(), path.size());
  fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval deadline = {.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof deadline);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    ::close(std::exchange(fd_, -1));
    return;
  }
  if (!silent) {
    SendAll("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    SendFrame(kSettings, 0, 0, "");
  }
}

RawHttp2::RawHttp2(RawHttp2&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

RawHttp2::~RawHttp2() {
  if (fd_ >= 0) ::close(fd_);
}

bool RawHttp2::OpenStream(uint32_t id) {
  return SendFrame(
      kHeaders, kEndHeaders, id,
      absl::StrCat(Field(":method", "POST"), Field(":scheme", "http"),
                   Field(":path", "/ssd.v1.ParameterService/Session"), Field(":authority", "shard"),
                   Field("te", "trailers"), Field("content-type", "application/grpc")));
}

bool RawHttp2::SendData(uint32_t id, absl::string_view bytes) {
  while (!bytes.empty()) {
    const absl::string_view part = bytes.substr(0, kMaxFrameBytes);
    if (!SendFrame(kData, 0, id, part)) return false;
    bytes.remove_prefix(part.size());
  }
  return true;
}

bool RawHttp2::SendFrame(uint8_t type, uint8_t flags, uint32_t stream, absl::string_view payload) {
  return SendAll(absl::StrCat(BigEndian(payload.size(), 3), BigEndian(type, 1), BigEndian(flags, 1),
                              BigEndian(stream, 4), payload));
}

bool RawHttp2::SendAll(absl::string_view bytes) {
  while (fd_ >= 0 && !bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return fd_ >= 0;
}

}  // namespace ssd
