#include "deploy/run/run_directory.h"

#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/io/disk.h"
#include "common/io/errno_status.h"
#include "common/status_macros.h"

namespace ssd {

absl::StatusOr<std::string> CreateRunDirectory(const std::string& directory, const std::string& name) {
  const std::string parent = absl::StrCat(directory.empty() ? "." : directory, "/", name);
  RETURN_IF_ERROR(Disk::Real().MakeDirectories(parent));
  for (int number = 1;; ++number) {
    const std::string path = absl::StrCat(parent, "/", absl::StrFormat("%03d", number));
    if (::mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST) return ErrnoStatus(errno, path, "make the folder");
  }
}

}  // namespace ssd
