// Frames as the bytes that travel, for tests.
#ifndef SSD_TESTS_WIRE_FRAME_BYTES_H_
#define SSD_TESTS_WIRE_FRAME_BYTES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/wire/frame.h"

namespace ssd::testing {

using Pieces = std::vector<std::span<const uint8_t>>;

inline std::span<const uint8_t> BytesOf(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

// The whole frame: what comes before the payload, and the payload.
inline std::string Encode(const google::protobuf::MessageLite& header, std::span<const float> payload) {
  std::string bytes = EncodeBeforePayload(header, payload.size_bytes());
  bytes.append(reinterpret_cast<const char*>(payload.data()), payload.size_bytes());
  return bytes;
}

inline v1::WorkerHeader PushHeader() {
  v1::WorkerHeader header;
  header.set_generation(3);
  header.mutable_push()->set_block(7);
  header.mutable_push()->set_step(300);
  return header;
}

// Decodes bytes that lie in one piece.
inline absl::StatusOr<WorkerFrame> Decode(const std::string& bytes) {
  BufferPool pool;
  // A copy of the exact size on the heap, so that the sanitizers see a read beyond it.
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  const Pieces pieces = {exact};
  return DecodeFrame<v1::WorkerHeader>(pieces, pool);
}

// The header of a frame that has to be without a payload.
inline absl::StatusOr<v1::WorkerHeader> DecodeWithoutPayload(const std::string& bytes) {
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  const Pieces pieces = {exact};
  v1::WorkerHeader header;
  const absl::Status status = DecodeFrameWithoutPayload(pieces, header);
  if (!status.ok()) return status;
  return header;
}

}  // namespace ssd::testing

#endif  // SSD_TESTS_WIRE_FRAME_BYTES_H_
