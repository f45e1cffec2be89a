#include "common/io/errno_status.h"

#include <cerrno>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace ssd {

std::string ErrnoText(int error) { return std::generic_category().message(error); }

absl::Status ErrnoStatus(int error, absl::string_view path, absl::string_view what) {
  const std::string message = absl::StrCat(path, ": cannot ", what, ": ", ErrnoText(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(message);
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    default:
      return absl::UnknownError(message);
  }
}

}  // namespace ssd
