// Named tensors in one file, in the format that Hugging Face's safetensors defines and PyTorch's users share:
//
//   +-----------+----------------------------------------+------------------------------+
//   | u64 LE  N | N bytes of JSON, padded with spaces    | the tensors' values, LE      |
//   +-----------+----------------------------------------+------------------------------+
//
//   {"__metadata__": {"format": "pt"},
//    "fc.bias": {"dtype": "F32", "shape": [10], "data_offsets": [begin, end]}, ...}
//
// Offsets count from the first byte after the JSON. The tensors cover the values without holes or overlaps. N
// is at most 100,000,000. https://github.com/huggingface/safetensors
//
// Nothing in a file is trusted before it is checked, so any bytes may be given. All functions are
// thread-safe.
#ifndef SSD_COMMON_IO_SAFETENSORS_H_
#define SSD_COMMON_IO_SAFETENSORS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/io/disk.h"

namespace ssd {

inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

enum class SafetensorsType { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };

// "F32" and the like.
absl::string_view SafetensorsTypeName(SafetensorsType type);

// "F32 of shape [64, 3]", for messages; a shape of more than 16 dimensions is cut.
std::string DescribeTensor(SafetensorsType type, std::span<const int64_t> shape);

using SafetensorsMetadata = std::map<std::string, std::string>;

// One tensor of a file that was read. A scalar has no dimensions.
struct SafetensorsTensor {
  std::string name;
  SafetensorsType type = SafetensorsType::kF32;
  std::vector<int64_t> shape;
  absl::string_view
      bytes;  // row-major, little-endian, at any alignment; exactly as many as type and shape ask for

  // The values, copied. InvalidArgument: it has another type, or not `values.size()` values.
  absl::Status CopyTo(std::span<float> values) const;
  absl::Status CopyTo(std::span<int64_t> values) const;
};

struct Safetensors {
  SafetensorsMetadata metadata;
  std::vector<SafetensorsTensor> tensors;  // in the order of their values in the file
  // What `bytes` refers to where the file was read by ReadSafetensors; null where the caller holds the bytes.
  std::shared_ptr<const std::string> content;
};

// Takes `content`, a whole file, apart. The result refers to `content`. `name` is what errors call the file.
// DataLoss: it is not a well-formed safetensors file; says which tensor, what was seen and what was wanted.
absl::StatusOr<Safetensors> ParseSafetensors(absl::string_view content, absl::string_view name);

// The same for a file, which it reads into memory. Fails as the disk does, and with DataLoss.
absl::StatusOr<Safetensors> ReadSafetensors(Disk& disk, const std::string& path);

// A tensor to be written. Its type is that of its values.
struct SafetensorsSource {
  // Makes the values when their turn comes, so that a model in another order of axes needs no second copy of
  // all of it. What it returns has to last until the next such call.
  using MakeFloats = std::function<std::span<const float>()>;

  std::string name;
  std::vector<int64_t> shape;
  std::variant<std::span<const float>, std::span<const int64_t>, MakeFloats> values;
};

// Writes `path` aside, flushes it and renames it, so that whoever looks sees the old file or all of the new.
// The header lists the tensors in the order given; of the values the I64 come first, so that all are aligned.
// Equal arguments give equal bytes. Fails as the disk does. InvalidArgument: two tensors of one name, a name
// that is "__metadata__" or not UTF-8, a shape that does not fit the values, or a header that is too large.
// After an error `path` is as it was, except where only the directory could not be synced.
absl::Status WriteSafetensors(Disk& disk, const std::string& path, std::span<const SafetensorsSource> tensors,
                              const SafetensorsMetadata& metadata);

}  // namespace ssd

#endif  // SSD_COMMON_IO_SAFETENSORS_H_
