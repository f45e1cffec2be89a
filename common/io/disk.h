// Files as the cores see them, so that a test can fill the disk.
#ifndef SSD_COMMON_IO_DISK_H_
#define SSD_COMMON_IO_DISK_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ssd {

// A file under way. Not thread-safe.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  // Appends all of `data` or fails; the error names the file and the system's reason.
  virtual absl::Status Append(absl::string_view data) = 0;
  // Flushes to the disk itself and closes. Without it the destructor closes and says nothing.
  virtual absl::Status SyncAndClose() = 0;
};

// Thread-safe. Errors name the path and the system's reason; ResourceExhausted where the disk is full, NotFound where the file is
// missing, PermissionDenied where it may not be touched, and Unknown for the rest.
class Disk {
 public:
  virtual ~Disk() = default;
  virtual absl::StatusOr<std::string> ReadFile(const std::string& path) = 0;
  // Creates `path`, or empties it.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) = 0;
  // Creates `path`. AlreadyExists: it is there, and stays as it is.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> CreateNew(const std::string& path) = 0;
  // Makes the folder `path` and those above it where they are missing.
  virtual absl::Status MakeDirectories(const std::string& path) = 0;
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status Remove(const std::string& path) = 0;
  virtual absl::Status SyncDirectory(const std::string& path) = 0;

  // Writes beside `path`, flushes, and renames: whoever looks sees the old content or all of the new.
  absl::Status WriteWhole(const std::string& path, absl::string_view content);
  // The same for content that is made piece by piece: `write` appends it. Its error is passed on.
  absl::Status WriteWhole(const std::string& path, absl::FunctionRef<absl::Status(WritableFile&)> write);

  // The machine's file system.
  static Disk& Real();
};

}  // namespace ssd

#endif  // SSD_COMMON_IO_DISK_H_
