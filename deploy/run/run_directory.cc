#include "deploy/run/run_directory.h"

#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/io/errno_status.h"
#include "common/status_macros.h"

namespace ssd {
namespace {

absl::Status MakeStatus(const std::string& path, int error) {
  return ErrnoStatus(error, path, "make the folder");
}

}  // namespace

absl::Status MakeDirectories(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string prefix = path.substr(0, end);
    if (::mkdir(prefix.c_str(), 0777) != 0 && errno != EEXIST) {
      // Where a folder is there already, a read-only file system may say EROFS or EACCES in place of EEXIST.
      const int error = errno;
      struct stat info;
      if (::stat(prefix.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return MakeStatus(prefix, error);
    }
    if (end == std::string::npos) break;
  }
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return MakeStatus(path, errno);
  return S_ISDIR(info.st_mode) ? absl::OkStatus() : MakeStatus(path, ENOTDIR);
}

absl::StatusOr<std::string> CreateRunDirectory(const std::string& directory, const std::string& name) {
  const std::string parent = absl::StrCat(directory.empty() ? "." : directory, "/", name);
  RETURN_IF_ERROR(MakeDirectories(parent));
  for (int number = 1;; ++number) {
    const std::string path = absl::StrCat(parent, "/", absl::StrFormat("%03d", number));
    if (::mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST) return MakeStatus(path, errno);
  }
}

}  // namespace ssd
