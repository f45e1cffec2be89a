// Safetensors files put together by hand, whether they are well-formed or not.
#ifndef SSD_TESTS_IO_SAFETENSORS_BYTES_H_
#define SSD_TESTS_IO_SAFETENSORS_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/io/safetensors.h"

namespace ssd {

// A file of this header, as it stands, and of `value_bytes` zeros.
inline std::string FileOf(const std::string& header, size_t value_bytes) {
  std::string file;
  for (int byte = 0; byte < 8; ++byte)
    file.push_back(static_cast<char>(uint64_t{header.size()} >> (8 * byte)));
  return file + header + std::string(value_bytes, '\0');
}

// A file of one tensor "w" whose header is `entry`.
inline std::string FileOfEntry(const std::string& entry, size_t value_bytes) {
  return FileOf("{\"w\":" + entry + "}", value_bytes);
}

// The file's tensor of that name; null where there is none.
inline const SafetensorsTensor* Find(const Safetensors& file, absl::string_view name) {
  for (const SafetensorsTensor& tensor : file.tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

}  // namespace ssd

#endif  // SSD_TESTS_IO_SAFETENSORS_BYTES_H_
