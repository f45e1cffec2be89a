#include "deploy/run/local_addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/io/errno_status.h"

namespace ssd {
namespace {

constexpr size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;  // 107 on Linux
constexpr char kTemplate[] = "/ssd-XXXXXX";

std::string SocketPath(const std::string& directory, int socket) {
  return absl::StrCat(directory, "/", socket, ".sock");
}

}  // namespace

absl::StatusOr<SocketDirectory> SocketDirectory::Create(int num_sockets) {
  std::vector<std::string> parents;
  const char* runtime = ::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') parents.emplace_back(runtime);
  parents.emplace_back("/tmp");
  std::string tried;
  int error = 0;
  for (const std::string& parent : parents) {
    std::string path = absl::StrCat(parent, kTemplate);
    const size_t longest = SocketPath(path, num_sockets - 1).size();
    if (longest > kMaxSocketPath) {
      absl::StrAppend(&tried, "; ", parent, ": a socket's path would have ", longest, " bytes, the limit is ",
                      kMaxSocketPath);
      continue;
    }
    if (::mkdtemp(path.data()) != nullptr) return SocketDirectory(path, num_sockets);
    error = errno;
    absl::StrAppend(&tried, "; ", parent, ": ", ErrnoText(error));
  }
  const std::string message = absl::StrCat("cannot make a folder for the servers' sockets", tried);
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(message);
  return absl::PermissionDeniedError(message);
}

SocketDirectory::SocketDirectory(SocketDirectory&& other) noexcept
    : path_(std::move(other.path_)), num_sockets_(other.num_sockets_) {
  other.path_.clear();
}

SocketDirectory::~SocketDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;  // a folder left in /tmp harms nobody
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> SocketDirectory::Addresses() const {
  std::vector<std::string> addresses;
  addresses.reserve(num_sockets_);
  for (int i = 0; i < num_sockets_; ++i) addresses.push_back(absl::StrCat("unix:", SocketPath(path_, i)));
  return addresses;
}

bool IsInSocketDirectory(const std::string& address) {
  constexpr absl::string_view kScheme = "unix:";
  if (!absl::StartsWith(address, kScheme)) return false;
  const std::filesystem::path socket(address.substr(kScheme.size()));
  const std::string folder = socket.parent_path().filename();
  const auto is_random = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); };
  return socket.extension() == ".sock" && folder.size() == sizeof kTemplate - 2 &&
         absl::StartsWith(folder, "ssd-") && std::all_of(folder.begin() + 4, folder.end(), is_random);
}

absl::StatusOr<std::vector<std::string>> FreeTcpAddresses(int count) {
  std::vector<std::string> addresses;
  std::vector<int> sockets;  // all open until the last port is known, or the system would give one twice
  absl::Status status;
  for (int i = 0; i < count && status.ok(); ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (fd >= 0) sockets.push_back(fd);
    if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      status = absl::InternalError(absl::StrCat("cannot find a free port on 127.0.0.1: ", ErrnoText(errno)));
    } else {
      addresses.push_back(absl::StrCat("127.0.0.1:", ntohs(address.sin_port)));
    }
  }
  for (const int fd : sockets) ::close(fd);
  if (!status.ok()) return status;
  return addresses;
}

}  // namespace ssd
