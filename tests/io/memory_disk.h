// A disk in memory that tells what was done to it, and that can be full.
#ifndef SSD_TESTS_IO_MEMORY_DISK_H_
#define SSD_TESTS_IO_MEMORY_DISK_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/io/disk.h"

namespace ssd {

// Not thread-safe.
class MemoryDisk : public Disk {
 public:
  std::map<std::string, std::string> files;
  std::vector<std::string> events;  // "create a", "sync a", "rename a b", "remove a", "sync directory d"
  size_t largest_append = 0;        // in bytes
  int64_t bytes_until_full = INT64_MAX;

  absl::StatusOr<std::string> ReadFile(const std::string& path) override {
    const auto found = files.find(path);
    if (found == files.end()) return absl::NotFoundError(absl::StrCat(path, ": not there"));
    return found->second;
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    events.push_back(absl::StrCat("create ", path));
    files[path].clear();
    return std::make_unique<File>(this, path);
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> CreateNew(const std::string& path) override {
    if (files.contains(path)) return absl::AlreadyExistsError(absl::StrCat(path, ": is there already"));
    return Create(path);
  }

  absl::Status MakeDirectories(const std::string& path) override {
    events.push_back(absl::StrCat("make directories ", path));
    return absl::OkStatus();
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    events.push_back(absl::StrCat("rename ", from, " ", to));
    files[to] = files.at(from);
    files.erase(from);
    return absl::OkStatus();
  }

  absl::Status Remove(const std::string& path) override {
    events.push_back(absl::StrCat("remove ", path));
    files.erase(path);
    return absl::OkStatus();
  }

  absl::Status SyncDirectory(const std::string& path) override {
    events.push_back(absl::StrCat("sync directory ", path));
    return absl::OkStatus();
  }

 private:
  class File : public WritableFile {
   public:
    File(MemoryDisk* disk, std::string path) : disk_(disk), path_(std::move(path)) {}

    absl::Status Append(absl::string_view data) override {
      disk_->bytes_until_full -= static_cast<int64_t>(data.size());
      if (disk_->bytes_until_full < 0) return absl::ResourceExhaustedError(absl::StrCat(path_, ": full"));
      disk_->largest_append = std::max(disk_->largest_append, data.size());
      disk_->files[path_].append(data.data(), data.size());
      return absl::OkStatus();
    }

    absl::Status SyncAndClose() override {
      disk_->events.push_back(absl::StrCat("sync ", path_));
      return absl::OkStatus();
    }

   private:
    MemoryDisk* const disk_;
    const std::string path_;
  };
};

}  // namespace ssd

#endif  // SSD_TESTS_IO_MEMORY_DISK_H_
