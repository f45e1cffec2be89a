#include "worker/data/cifar10.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"

namespace ssd {
namespace {

constexpr int64_t kSide = 32;
constexpr int64_t kPlane = kSide * kSide;
constexpr int64_t kChannels = 3;
constexpr int64_t kRecordBytes = 1 + kChannels * kPlane;
constexpr int64_t kRecordsPerFile = 10'000;
constexpr int64_t kFileBytes = kRecordsPerFile * kRecordBytes;
constexpr int kTrainingFiles = 5;
constexpr int kClasses = 10;

constexpr absl::string_view kHowToFetch = "deploy/data/fetch_cifar10.sh downloads and checks the data set";

ImageSet EmptySet(const std::vector<std::string>& class_names, int64_t images) {
  ImageSet set;
  set.shape = {.height = kSide, .width = kSide, .channels = kChannels};
  set.class_names = class_names;
  // Of the training images. The widespread std (0.2023, 0.1994, 0.2010) is a mean of the images' own.
  set.mean = {0.4914f, 0.4822f, 0.4465f};
  set.std = {0.2470f, 0.2435f, 0.2616f};
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
  std::vector<std::string> names;
  for (absl::string_view line : absl::StrSplit(*content, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty()) names.emplace_back(line);
  }
  if (names.size() != kClasses) {
    return absl::DataLossError(absl::StrCat(path, ": got ", names.size(), " class names, wanted ", kClasses));
  }
  return names;
}

std::string TrainingFile(const std::string& directory, int file) {
  return absl::StrCat(directory, "/data_batch_", file, ".bin");
}

std::string TestFile(const std::string& directory) { return absl::StrCat(directory, "/test_batch.bin"); }

absl::Status NotThere(absl::string_view why) {
  return absl::NotFoundError(absl::StrCat("CIFAR-10 is not there: ", why, "; ", kHowToFetch));
}

absl::Status CheckSize(const std::string& path, int64_t bytes) {
  if (bytes == kFileBytes) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, ": has ", bytes, " bytes, wanted ", kFileBytes, " (",
                                          kRecordsPerFile, " records of ", kRecordBytes, "); ", kHowToFetch));
}

// Appends the records of one file to `set`.
absl::Status AppendFile(const std::string& path, Disk& disk, ImageSet& set) {
  const absl::StatusOr<std::string> content = disk.ReadFile(path);
  if (absl::IsNotFound(content.status())) return NotThere(content.status().message());
  if (!content.ok()) return content.status();
  RETURN_IF_ERROR(CheckSize(path, static_cast<int64_t>(content->size())));
  const auto* record = reinterpret_cast<const uint8_t*>(content->data());
  for (int64_t i = 0; i < kRecordsPerFile; ++i, record += kRecordBytes) {
    if (record[0] >= kClasses) {
      return absl::DataLossError(absl::StrCat(path, ": record ", i, " of ", kRecordsPerFile, " has label ",
                                              static_cast<int>(record[0]), ", wanted 0 to ", kClasses - 1));
    }
    set.labels.push_back(record[0]);
    const size_t begin = set.pixels.size();
    set.pixels.resize(begin + kChannels * kPlane);
    uint8_t* pixel = &set.pixels[begin];
    for (int64_t p = 0; p < kPlane; ++p) {
      for (int64_t c = 0; c < kChannels; ++c) *pixel++ = record[1 + c * kPlane + p];
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ResolveDataPath(const std::string& configured) {
  if (!configured.empty()) return configured;
  const char* environment = std::getenv("SSD_DATA_DIR");
  if (environment != nullptr && *environment != '\0') return std::string(environment);
  return absl::NotFoundError(absl::StrCat(
      "nothing says where the data set is: set data.path in the experiment or the environment variable "
      "SSD_DATA_DIR to the folder of its files; ",
      kHowToFetch));
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
    RETURN_IF_ERROR(CheckSize(path, static_cast<int64_t>(bytes)));
  }
  return absl::OkStatus();
}

}  // namespace ssd
