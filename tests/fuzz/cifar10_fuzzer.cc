// The reader of CIFAR-10: records and class names.
//
// The first byte, modulo 4, is how many records are wanted of the rest; the rest is also read as class names. Records
// are images whose pixels lie where the format says, or DataLoss; class names are ten lines, or DataLoss.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/fuzz/property.h"
#include "worker/data/cifar10_records.h"

namespace ssd {
namespace {

void CheckRecords(absl::string_view content, int64_t records) {
  ImageSet set = EmptyCifar10(std::vector<std::string>(kCifar10Classes));
  const absl::Status status = AppendCifar10Records(content, records, "file", set);
  SSD_PROPERTY(static_cast<int64_t>(set.pixels.size()) == set.size() * set.shape.size());
  const bool whole = static_cast<int64_t>(content.size()) == records * kCifar10RecordBytes;
  int64_t good = 0;  // records before the first bad label
  while (whole && good < records &&
         static_cast<uint8_t>(content[good * kCifar10RecordBytes]) < kCifar10Classes)
    ++good;
  SSD_PROPERTY(status.ok() == (whole && good == records));
  SSD_PROPERTY(status.ok() || status.code() == absl::StatusCode::kDataLoss);
  SSD_PROPERTY(set.size() == good);
  for (int64_t i = 0; i < good; ++i) {
    const absl::string_view record = content.substr(i * kCifar10RecordBytes, kCifar10RecordBytes);
    SSD_PROPERTY(set.labels[i] == record[0]);
    const std::span<const uint8_t> image = set.image(i);
    for (size_t at = 0; at < image.size(); ++at) {
      const size_t pixel = at / 3, channel = at % 3;
      SSD_PROPERTY(image[at] == static_cast<uint8_t>(record[1 + 1024 * channel + pixel]));
    }
  }
}

void CheckClassNames(absl::string_view content) {
  const absl::StatusOr<std::vector<std::string>> names = ParseCifar10ClassNames(content, "names");
  if (!names.ok()) {
    SSD_PROPERTY(names.status().code() == absl::StatusCode::kDataLoss);
    return;
  }
  SSD_PROPERTY(names->size() == kCifar10Classes);
  for (const std::string& name : *names) SSD_PROPERTY(!name.empty() && name.find('\n') == std::string::npos);
}

}  // namespace
}  // namespace ssd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view content = ssd::TextOf(data + 1, size - 1);
  ssd::CheckRecords(content, data[0] % 4);
  ssd::CheckClassNames(content);
  return 0;
}
