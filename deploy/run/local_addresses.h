// Addresses on this machine for a run's servers.
#ifndef SSD_DEPLOY_RUN_LOCAL_ADDRESSES_H_
#define SSD_DEPLOY_RUN_LOCAL_ADDRESSES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ssd {

// A new, short folder that only this user can enter, for unix sockets; removed with all its files when
// destroyed.
//
// A socket's path has at most 107 bytes, and gRPC cuts or refuses longer ones; so TMPDIR, which may be long,
// is not used.
class SocketDirectory {
 public:
  // Below $XDG_RUNTIME_DIR, or where that is not set, not usable or too long, below /tmp. `num_sockets`
  // decides how long the longest name is. Errors as Disk's, with the folders that were tried.
  static absl::StatusOr<SocketDirectory> Create(int num_sockets);
  SocketDirectory(SocketDirectory&& other) noexcept;
  SocketDirectory& operator=(SocketDirectory&&) = delete;
  ~SocketDirectory();

  const std::string& path() const { return path_; }
  std::vector<std::string> Addresses() const;  // "unix:<path>/0.sock" and so on

 private:
  SocketDirectory(std::string path, int num_sockets) : path_(std::move(path)), num_sockets_(num_sockets) {}

  std::string path_;  // empty: moved from
  int num_sockets_;
};

// Whether `address` is a socket in a folder named like one of SocketDirectory's: chosen by an ssd-run, for one
// run, which may be alive still.
bool IsInSocketDirectory(const std::string& address);

// "127.0.0.1:port" for `count` different ports that are free now. Another program may take one before the
// server does; the server then says so and ends with exit code 2.
absl::StatusOr<std::vector<std::string>> FreeTcpAddresses(int count);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_LOCAL_ADDRESSES_H_
