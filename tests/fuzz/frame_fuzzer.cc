// The frame decoder, on bytes that come in one piece or in many.
//
// The first byte is the size of the pieces (0: one piece); the rest is the frame. What is decoded can be encoded, and
// then decodes to the same; protobuf's own parser takes it too; how it was cut does not matter; and what is refused is
// InvalidArgument and says "frame: ".
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/wire/frame.h"
#include "tests/fuzz/property.h"

namespace ssd {
namespace {

using Bytes = std::span<const uint8_t>;

std::vector<Bytes> Cut(Bytes bytes, size_t piece) {
  if (piece == 0) return {bytes};
  std::vector<Bytes> pieces;
  for (size_t begin = 0; begin < bytes.size(); begin += piece) {
    pieces.push_back(bytes.subspan(begin, std::min(piece, bytes.size() - begin)));
  }
  return pieces;
}

template <typename Header>
bool Same(const Frame<Header>& a, const Frame<Header>& b) {
  return a.header.SerializeAsString() == b.header.SerializeAsString() &&
         a.payload.size() == b.payload.size() &&
         (a.payload.empty() ||
          std::memcmp(a.payload.values().data(), b.payload.values().data(), a.payload.size_bytes()) == 0);
}

template <typename Header, typename Message>
void CheckOne(Bytes bytes, size_t piece) {
  BufferPool pool;
  const std::vector<Bytes> whole = {bytes};
  const absl::StatusOr<Frame<Header>> frame = DecodeFrame<Header>(whole, pool);
  const absl::StatusOr<Frame<Header>> pieced = DecodeFrame<Header>(Cut(bytes, piece), pool);
  SSD_PROPERTY(frame.status() == pieced.status());
  if (!frame.ok()) {
    SSD_PROPERTY(frame.status().code() == absl::StatusCode::kInvalidArgument);
    SSD_PROPERTY(absl::StartsWith(frame.status().message(), "frame: "));
    return;
  }
  SSD_PROPERTY(Same(*frame, *pieced));
  SSD_PROPERTY(frame->payload.size_bytes() <= bytes.size());

  Message message;
  SSD_PROPERTY(message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  SSD_PROPERTY(message.payload().size() == frame->payload.size_bytes());
  SSD_PROPERTY(message.header().SerializeAsString() == frame->header.SerializeAsString());

  std::string encoded = EncodeBeforePayload(frame->header, frame->payload.size_bytes());
  if (!frame->payload.empty()) {
    encoded.append(reinterpret_cast<const char*>(frame->payload.values().data()),
                   frame->payload.size_bytes());
  }
  const std::vector<Bytes> again = {Bytes(reinterpret_cast<const uint8_t*>(encoded.data()), encoded.size())};
  const absl::StatusOr<Frame<Header>> decoded = DecodeFrame<Header>(again, pool);
  SSD_PROPERTY(decoded.ok()) << decoded.status().ToString();
  SSD_PROPERTY(Same(*frame, *decoded));
}

}  // namespace
}  // namespace ssd

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  ssd::QuietProtobuf();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ssd::Bytes bytes(data + 1, size - 1);
  ssd::CheckOne<ssd::v1::WorkerHeader, ssd::v1::WorkerFrame>(bytes, data[0]);
  ssd::CheckOne<ssd::v1::ServerHeader, ssd::v1::ServerFrame>(bytes, data[0]);
  return 0;
}
