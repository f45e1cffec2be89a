// The JSON at the head of a safetensors file (see safetensors.h), apart from the values it describes.
//
// Thread-safe. This is the one place that knows the JSON library.
#ifndef SSD_COMMON_IO_SAFETENSORS_HEADER_H_
#define SSD_COMMON_IO_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ssd {

// What the header says of one tensor. After parsing, its keys are there and of the right kind; what the
// values are worth (known type, offsets that fit) is not yet checked.
struct SafetensorsEntry {
  std::string name;
  std::string type;
  std::vector<uint64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> entries;  // in the order of the JSON
};

// `text` for a message: escaped, and cut where it is long.
std::string QuoteUntrusted(absl::string_view text);

// DataLoss: `json` is not strict JSON of exactly this form, or a key occurs twice; says where and what.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json);

// The reverse, without white space. InvalidArgument: a name or metadata is not UTF-8.
absl::StatusOr<std::string> FormatSafetensorsHeader(const SafetensorsHeader& header);

}  // namespace ssd

#endif  // SSD_COMMON_IO_SAFETENSORS_HEADER_H_
