#include "tests/benchmark/tcp_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/logging.h"

namespace ssd::benchmarks {
namespace {

constexpr size_t kCallBytes = 1 << 20;  // a call moves at most

template <typename Transfer>
void All(size_t size, Transfer transfer) {
  for (size_t done = 0; done < size;) {
    const ssize_t moved = transfer(done, std::min(kCallBytes, size - done));
    if (moved < 0 && errno == EINTR) continue;
    CHECK_GT(moved, 0);
    done += static_cast<size_t>(moved);
  }
}

}  // namespace

TcpStream::TcpStream(int64_t bytes) : source_(bytes, 1), target_(bytes) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK_GE(listener, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  CHECK_EQ(::bind(listener, name, size), 0);
  CHECK_EQ(::listen(listener, 1), 0);
  CHECK_EQ(::getsockname(listener, name, &size), 0);
  sender_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK_EQ(::connect(sender_, name, size), 0);
  receiver_ = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  CHECK_GE(receiver_, 0);
  ::close(listener);
  const int on = 1;
  CHECK_EQ(::setsockopt(sender_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
}

TcpStream::~TcpStream() {
  ::close(sender_);
  ::close(receiver_);
}

void TcpStream::Send() {
  All(source_.size(),
      [this](size_t at, size_t size) { return ::send(sender_, source_.data() + at, size, 0); });
}

void TcpStream::Receive() {
  All(target_.size(),
      [this](size_t at, size_t size) { return ::recv(receiver_, target_.data() + at, size, 0); });
}

}  // namespace ssd::benchmarks
