#include "common/wire/frame.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "google/protobuf/stubs/logging.h"

namespace ssd {
namespace {

static_assert(std::endian::native == std::endian::little, "payloads are sent as they lie in memory");

constexpr uint8_t kHeaderTag = 0x0A;   // field 1, length-delimited
constexpr uint8_t kPayloadTag = 0x12;  // field 2, length-delimited

void AppendVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

// Reads bytes that lie in several pieces.
class PieceReader {
 public:
  explicit PieceReader(std::span<const std::span<const uint8_t>> pieces) : pieces_(pieces) {
    for (const auto piece : pieces) remaining_ += piece.size();
  }

  size_t remaining() const { return remaining_; }

  // REQUIRES: size <= remaining().
  void Read(void* to, size_t size) {
    auto* out = static_cast<uint8_t*>(to);
    remaining_ -= size;
    while (size > 0) {
      const std::span<const uint8_t> rest = pieces_.front().subspan(position_);
      const size_t n = std::min(size, rest.size());
      if (n > 0) std::memcpy(out, rest.data(), n);
      out += n;
      size -= n;
      position_ += n;
      if (position_ == pieces_.front().size()) {
        pieces_ = pieces_.subspan(1);
        position_ = 0;
      }
    }
  }

  // A tag of one byte and the size that follows it.
  absl::StatusOr<uint64_t> ReadSize(uint8_t tag, absl::string_view what, size_t limit) {
    uint8_t byte = 0;
    if (remaining_ == 0) return absl::InvalidArgumentError(absl::StrCat("frame: no ", what));
    Read(&byte, 1);
    if (byte != tag) {
      return absl::InvalidArgumentError(
          absl::StrCat("frame: got tag ", byte, " where the ", what, "'s ", tag, " stands"));
    }
    uint64_t size = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (remaining_ == 0)
        return absl::InvalidArgumentError(absl::StrCat("frame: ends inside the ", what, "'s size"));
      Read(&byte, 1);
      // A last byte of 0 adds nothing, and the tenth byte has room for one bit.
      if ((byte == 0 && shift > 0) || (shift == 63 && byte > 1)) break;
      size |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) {
        if (size > limit) {
          return absl::InvalidArgumentError(absl::StrCat("frame: ", what, " of ", size,
                                                         " bytes declared, at most ", limit, " are allowed"));
        }
        if (size > remaining_) {
          return absl::InvalidArgumentError(
              absl::StrCat("frame: ", what, " of ", size, " bytes declared, ", remaining_, " are there"));
        }
        return size;
      }
    }
    return absl::InvalidArgumentError(absl::StrCat("frame: the ", what, "'s size is no shortest varint"));
  }

 private:
  std::span<const std::span<const uint8_t>> pieces_;
  size_t position_ = 0;  // in the front piece
  size_t remaining_ = 0;
};

// Reads what comes first.
absl::Status ReadHeader(PieceReader& reader, google::protobuf::MessageLite& header) {
  ASSIGN_OR_RETURN(const uint64_t header_bytes, reader.ReadSize(kHeaderTag, "header", kMaxHeaderBytes));
  std::string encoded(header_bytes, '\0');
  reader.Read(encoded.data(), header_bytes);
  if (!header.ParseFromString(encoded)) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame: ", header_bytes, " bytes are no ", header.GetTypeName()));
  }
  return absl::OkStatus();
}

}  // namespace

std::string EncodeBeforePayload(const google::protobuf::MessageLite& header, size_t payload_bytes) {
  std::string out;
  const size_t header_bytes = header.ByteSizeLong();
  out.reserve(header_bytes + 24);
  out.push_back(kHeaderTag);
  AppendVarint(header_bytes, out);
  header.AppendToString(&out);
  if (payload_bytes > 0) {
    out.push_back(kPayloadTag);
    AppendVarint(payload_bytes, out);
  }
  return out;
}

absl::Status DecodeFrameWithoutPayload(std::span<const std::span<const uint8_t>> pieces,
                                       google::protobuf::MessageLite& header) {
  PieceReader reader(pieces);
  RETURN_IF_ERROR(ReadHeader(reader, header));
  if (reader.remaining() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("frame: ", reader.remaining(), " bytes behind a header that has no payload"));
}

absl::StatusOr<Buffer> DecodeFrame(std::span<const std::span<const uint8_t>> pieces, BufferPool& pool,
                                   google::protobuf::MessageLite& header) {
  PieceReader reader(pieces);
  RETURN_IF_ERROR(ReadHeader(reader, header));
  if (reader.remaining() == 0) return Buffer();

  ASSIGN_OR_RETURN(const uint64_t payload_bytes, reader.ReadSize(kPayloadTag, "payload", kMaxPayloadBytes));
  if (payload_bytes != reader.remaining()) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame: ", reader.remaining() - payload_bytes, " bytes behind the payload"));
  }
  if (payload_bytes == 0 || payload_bytes % sizeof(float) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame: a payload of ", payload_bytes, " bytes is no array of floats"));
  }
  MutableBuffer payload = pool.Acquire(payload_bytes / sizeof(float));
  reader.Read(payload.values().data(), payload_bytes);
  return std::move(payload).Freeze();
}

void QuietProtobuf() { google::protobuf::SetLogHandler(nullptr); }

}  // namespace ssd
