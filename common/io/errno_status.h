// The system's errors as text and as Status.
#ifndef SSD_COMMON_IO_ERRNO_STATUS_H_
#define SSD_COMMON_IO_ERRNO_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ssd {

// "No such file or directory" for ENOENT. Thread-safe.
std::string ErrnoText(int error);

// "<path>: cannot <what>: <the system's reason>" for `error`, an errno. ResourceExhausted where the disk is
// full, NotFound where the path is missing, PermissionDenied where it may not be touched, and Unknown for the
// rest. Thread-safe.
absl::Status ErrnoStatus(int error, absl::string_view path, absl::string_view what);

}  // namespace ssd

#endif  // SSD_COMMON_IO_ERRNO_STATUS_H_
