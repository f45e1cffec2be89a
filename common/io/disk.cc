#include "common/io/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "common/io/errno_status.h"
#include "common/status_macros.h"

namespace ssd {
namespace {

class PosixFile : public WritableFile {
 public:
  PosixFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~PosixFile() override {
    if (fd_ >= 0) ::close(fd_);
  }

  absl::Status Append(absl::string_view data) override {
    while (!data.empty()) {
      const ssize_t n = ::write(fd_, data.data(), data.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, path_, "write");
      data.remove_prefix(n);
    }
    return absl::OkStatus();
  }

  absl::Status SyncAndClose() override {
    // Some file systems cannot sync (EINVAL on pipes and the like); that is no lost write.
    if (::fsync(fd_) != 0 && errno != EINVAL) return ErrnoStatus(errno, path_, "sync");
    const int fd = fd_;
    fd_ = -1;
    if (::close(fd) != 0) return ErrnoStatus(errno, path_, "close");
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  int fd_;
};

class PosixDisk : public Disk {
 public:
  absl::StatusOr<std::string> ReadFile(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return ErrnoStatus(errno, path, "open");
    std::string content;
    struct stat info;
    if (::fstat(fd, &info) == 0 && info.st_size > 0) content.reserve(info.st_size);
    char chunk[1 << 16];
    while (true) {
      const ssize_t n = ::read(fd, chunk, sizeof chunk);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const absl::Status status = ErrnoStatus(errno, path, "read");
        ::close(fd);
        return status;
      }
      if (n == 0) break;
      content.append(chunk, n);
    }
    ::close(fd);
    return content;
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    return Open(path, O_TRUNC);
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> CreateNew(const std::string& path) override {
    return Open(path, O_EXCL);
  }

  absl::Status MakeDirectories(const std::string& path) override {
    constexpr char kWhat[] = "make the folder";
    for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      const std::string prefix = path.substr(0, end);
      // Where a folder is there already, a read-only file system may say EROFS or EACCES in place of EEXIST.
      if (::mkdir(prefix.c_str(), 0777) != 0 && errno != EEXIST) {
        const int error = errno;
        if (!IsDirectory(prefix)) return ErrnoStatus(error, prefix, kWhat);
      }
      if (end == std::string::npos) break;
    }
    return IsDirectory(path) ? absl::OkStatus() : ErrnoStatus(ENOTDIR, path, kWhat);
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
    const int error = errno;
    return ErrnoStatus(error, from, absl::StrCat("rename to ", to));
  }

  absl::Status Remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return ErrnoStatus(errno, path, "remove");
    return absl::OkStatus();
  }

  absl::Status SyncDirectory(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return ErrnoStatus(errno, path, "open");
    const int result = ::fsync(fd);
    absl::Status status =
        result == 0 || errno == EINVAL ? absl::OkStatus() : ErrnoStatus(errno, path, "sync");
    ::close(fd);
    return status;
  }

 private:
  static absl::StatusOr<std::unique_ptr<WritableFile>> Open(const std::string& path, int how) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0644);
    if (fd < 0 && errno == EEXIST) return absl::AlreadyExistsError(absl::StrCat(path, ": is there already"));
    if (fd < 0) return ErrnoStatus(errno, path, "create");
    return std::make_unique<PosixFile>(path, fd);
  }

  static bool IsDirectory(const std::string& path) {
    struct stat info;
    return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  }
};

}  // namespace

absl::Status Disk::WriteWhole(const std::string& path, absl::string_view content) {
  return WriteWhole(path, [content](WritableFile& file) { return file.Append(content); });
}

absl::Status Disk::WriteWhole(const std::string& path, absl::FunctionRef<absl::Status(WritableFile&)> write) {
  const std::string aside = absl::StrCat(path, ".partial");
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, Create(aside));
  absl::Status written = write(*file);
  if (written.ok()) written = file->SyncAndClose();
  if (written.ok()) written = Rename(aside, path);
  if (!written.ok()) {
    Remove(aside).IgnoreError();  // the first error is the one to tell
    return written;
  }
  const size_t slash = path.rfind('/');
  return SyncDirectory(slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash));
}

Disk& Disk::Real() {
  static PosixDisk& disk = *new PosixDisk;
  return disk;
}

}  // namespace ssd
