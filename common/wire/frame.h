// A frame: a small header message and a raw payload of floats, and its bytes.
//
//   0A  varint header size   header          the header, a ssd.v1.WorkerHeader or ServerHeader
//   12  varint payload size  payload         little-endian float32; absent where the payload is empty
//
// That is a valid ssd.v1.WorkerFrame or ServerFrame, but payloads never pass through a protobuf parser:
// sending refers to the Buffer, and receiving copies the transport's pieces once, to where they are needed.
#ifndef SSD_COMMON_WIRE_FRAME_H_
#define SSD_COMMON_WIRE_FRAME_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/buffer.h"
#include "google/protobuf/message_lite.h"
#include "ssd/v1/parameter_service.pb.h"

namespace ssd {

inline constexpr int kProtocol = 1;  // what both sides of a stream must speak: Hello.protocol

// A hello with 10,000 tensors, or a pull of 2^18 blocks. What a header becomes in memory is a multiple of it: two bytes
// can be a tensor of 64.
inline constexpr size_t kMaxHeaderBytes = 1 << 20;
inline constexpr size_t kMaxPayloadBytes = 8 << 20;  // the largest block
inline constexpr size_t kMaxFrameBytes = kMaxHeaderBytes + kMaxPayloadBytes + 32;

template <typename Header>
struct Frame {
  Header header;
  Buffer payload;
};
using WorkerFrame = Frame<v1::WorkerHeader>;
using ServerFrame = Frame<v1::ServerHeader>;

// All bytes of a frame but the payload's own, which follow.
std::string EncodeBeforePayload(const google::protobuf::MessageLite& header, size_t payload_bytes);

// Reads a frame that lies in `pieces`, one after the other. The payload is copied into a buffer of `pool`.
// InvalidArgument: anything that EncodeBeforePayload would not write, sizes beyond the limits, and a payload
// that is no whole number of floats.
absl::StatusOr<Buffer> DecodeFrame(std::span<const std::span<const uint8_t>> pieces, BufferPool& pool,
                                   google::protobuf::MessageLite& header);

// The same for a frame that has to be without a payload. InvalidArgument where there is one, which is not copied.
absl::Status DecodeFrameWithoutPayload(std::span<const std::span<const uint8_t>> pieces,
                                       google::protobuf::MessageLite& header);

template <typename Header>
absl::StatusOr<Frame<Header>> DecodeFrame(std::span<const std::span<const uint8_t>> pieces,
                                          BufferPool& pool) {
  Frame<Header> frame;
  absl::StatusOr<Buffer> payload = DecodeFrame(pieces, pool, frame.header);
  if (!payload.ok()) return payload.status();
  frame.payload = *std::move(payload);
  return frame;
}

// Keeps protobuf's own lines off standard error, where anybody's header could otherwise put one. To be called once, at
// the start of main.
void QuietProtobuf();

}  // namespace ssd

#endif  // SSD_COMMON_WIRE_FRAME_H_
