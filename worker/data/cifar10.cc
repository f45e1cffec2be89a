#include "worker/data/cifar10.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "worker/data/cifar10_records.h"

namespace ssd {
namespace {

constexpr int64_t kRecordsPerFile = 10'000;
constexpr int kTrainingFiles = 5;

ImageSet EmptySet(const std::vector<std::string>& class_names, int64_t images) {
  ImageSet set = EmptyCifar10(class_names);
  set.pixels.reserve(images * set.shape.size());
  set.labels.reserve(images);
  return set;
}

absl::StatusOr<std::vector<std::string>> LoadClassNames(const std::string& directory, Disk& disk) {
  const std::string path = absl::StrCat(directory, "/batches.meta.txt");
  const absl::StatusOr<std::string> content = disk.ReadFile(path);
  if (absl::IsNotFound(content.status())) {
    return std::vector<std::string>{"airplane", "automobile", "bird",  "cat",  "deer",
                                    "dog",      "frog",       "horse", "ship", "truck"};
  }
  if (!content.ok()) return content.status();
  return ParseCifar10ClassNames(*content, path);
}

std::string TrainingFile(const std::string& directory, int file) {
  return absl::StrCat(directory, "/data_batch_", file, ".bin");
}

std::string TestFile(const std::string& directory) { return absl::StrCat(directory, "/test_batch.bin"); }

absl::Status NotThere(absl::string_view why) {
  return absl::NotFoundError(absl::StrCat("CIFAR-10 is not there: ", why, "; ", kHowToFetchCifar10));
}

// Appends the records of one file to `set`.
absl::Status AppendFile(const std::string& path, Disk& disk, ImageSet& set) {
  const absl::StatusOr<std::string> content = disk.ReadFile(path);
  if (absl::IsNotFound(content.status())) return NotThere(content.status().message());
  if (!content.ok()) return content.status();
  return AppendCifar10Records(*content, kRecordsPerFile, path, set);
}

}  // namespace

absl::StatusOr<std::string> ResolveDataPath(const std::string& configured) {
  if (!configured.empty()) return configured;
  const char* environment = std::getenv("SSD_DATA_DIR");
  if (environment != nullptr && *environment != '\0') return std::string(environment);
  return absl::NotFoundError(absl::StrCat(
      "nothing says where the data set is: set data.path in the experiment or the environment variable "
      "SSD_DATA_DIR to the folder of its files; ",
      kHowToFetchCifar10));
}

absl::StatusOr<ImageData> LoadCifar10(const std::string& directory, Disk& disk) {
  ASSIGN_OR_RETURN(const std::vector<std::string> class_names, LoadClassNames(directory, disk));
  ImageData data{.train = EmptySet(class_names, kTrainingFiles * kRecordsPerFile),
                 .test = EmptySet(class_names, kRecordsPerFile)};
  for (int file = 1; file <= kTrainingFiles; ++file) {
    RETURN_IF_ERROR(AppendFile(TrainingFile(directory, file), disk, data.train));
  }
  RETURN_IF_ERROR(AppendFile(TestFile(directory), disk, data.test));
  return data;
}

absl::Status CheckCifar10(const std::string& directory) {
  std::vector<std::string> paths = {TestFile(directory)};
  for (int file = kTrainingFiles; file >= 1; --file)
    paths.insert(paths.begin(), TrainingFile(directory, file));
  for (const std::string& path : paths) {
    std::error_code error;
    const uintmax_t bytes = std::filesystem::file_size(path, error);
    if (error) return NotThere(absl::StrCat(path, ": ", error.message()));
    RETURN_IF_ERROR(CheckCifar10Size(static_cast<int64_t>(bytes), kRecordsPerFile, path));
  }
  return absl::OkStatus();
}

}  // namespace ssd
