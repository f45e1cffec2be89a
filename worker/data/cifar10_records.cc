#include "worker/data/cifar10_records.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace ssd {
namespace {

constexpr int64_t kImageSide = 32;
constexpr int64_t kPlane = kImageSide * kImageSide;
constexpr int64_t kChannels = 3;
static_assert(kCifar10RecordBytes == 1 + kChannels * kPlane);

}  // namespace

ImageSet EmptyCifar10(std::vector<std::string> class_names) {
  ImageSet set;
  set.shape = {.height = kImageSide, .width = kImageSide, .channels = kChannels};
  set.class_names = std::move(class_names);
  // Of the training images. The widespread std (0.2023, 0.1994, 0.2010) is a mean of the images' own.
  set.mean = {0.4914f, 0.4822f, 0.4465f};
  set.std = {0.2470f, 0.2435f, 0.2616f};
  return set;
}

absl::Status CheckCifar10Size(int64_t bytes, int64_t records, absl::string_view name) {
  const int64_t wanted = records * kCifar10RecordBytes;
  if (bytes == wanted) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(name, ": has ", bytes, " bytes, wanted ", wanted, " (", records,
                                          " records of ", kCifar10RecordBytes, "); ", kHowToFetchCifar10));
}

absl::Status AppendCifar10Records(absl::string_view content, int64_t records, absl::string_view name,
                                  ImageSet& set) {
  RETURN_IF_ERROR(CheckCifar10Size(static_cast<int64_t>(content.size()), records, name));
  const auto* record = reinterpret_cast<const uint8_t*>(content.data());
  for (int64_t i = 0; i < records; ++i, record += kCifar10RecordBytes) {
    if (record[0] >= kCifar10Classes) {
      return absl::DataLossError(absl::StrCat(name, ": record ", i, " of ", records, " has label ",
                                              static_cast<int>(record[0]), ", wanted 0 to ",
                                              kCifar10Classes - 1));
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

absl::StatusOr<std::vector<std::string>> ParseCifar10ClassNames(absl::string_view content,
                                                                absl::string_view name) {
  std::vector<std::string> names;
  size_t lines = 0;  // that have a name; beyond ten they are only counted
  for (absl::string_view line : absl::StrSplit(content, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty() && ++lines <= kCifar10Classes) names.emplace_back(line);
  }
  if (lines != kCifar10Classes) {
    return absl::DataLossError(absl::StrCat(name, ": got ", lines, " class names, wanted ", kCifar10Classes));
  }
  return names;
}

}  // namespace ssd
