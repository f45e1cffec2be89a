// CRC-32C (Castagnoli), the checksum of TensorBoard's event files.
#ifndef SSD_COMMON_IO_CRC32C_H_
#define SSD_COMMON_IO_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace ssd {

// Reflected polynomial 0x82f63b78, register and result inverted (RFC 3720). Thread-safe.
uint32_t Crc32c(absl::string_view data);

// The checksum as TensorFlow's record files hold it: rotated and moved, so that a checksum over bytes which
// hold checksums themselves stays a good one.
constexpr uint32_t MaskedCrc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace ssd

#endif  // SSD_COMMON_IO_CRC32C_H_
