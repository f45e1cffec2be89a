// Frames to and from what gRPC carries, and the settings that both ends of a stream share.
#ifndef SSD_COMMON_WIRE_GRPC_FRAME_H_
#define SSD_COMMON_WIRE_GRPC_FRAME_H_

#include <grpcpp/impl/codegen/slice.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "common/wire/frame.h"

namespace ssd {

// Refers to the payload without a copy: the message holds a reference to it until it is written.
grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& header, const Buffer& payload);

template <typename Header>
grpc::ByteBuffer ToByteBuffer(const Frame<Header>& frame) {
  return ToByteBuffer(frame.header, frame.payload);
}

// The bytes where they lie; `slices` keeps them there. Empty where they cannot be read, which no frame is.
std::vector<std::span<const uint8_t>> Pieces(const grpc::ByteBuffer& bytes, std::vector<grpc::Slice>& slices);

// Reads a frame; its payload lies in a buffer of `pool`. Errors as DecodeFrame.
template <typename Header>
absl::StatusOr<Frame<Header>> FromByteBuffer(const grpc::ByteBuffer& bytes, BufferPool& pool) {
  std::vector<grpc::Slice> slices;
  return DecodeFrame<Header>(Pieces(bytes, slices), pool);
}

// Reads a frame that has to be without a payload. Errors as DecodeFrameWithoutPayload.
template <typename Header>
absl::StatusOr<Frame<Header>> HeaderFromByteBuffer(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  Frame<Header> frame;
  RETURN_IF_ERROR(DecodeFrameWithoutPayload(Pieces(bytes, slices), frame.header));
  return frame;
}

absl::Status FromGrpcStatus(const grpc::Status& status);
grpc::Status ToGrpcStatus(const absl::Status& status);

// A channel argument: gRPC's name for it and a value.
struct GrpcArgument {
  const char* name;
  int value;
};

// What both ends set. `peer_timeout`: within it a peer that does not answer, dead or frozen, is noticed. Larger
// messages than `max_receive_bytes` end their stream before they are received.
std::vector<GrpcArgument> GrpcArguments(absl::Duration peer_timeout,
                                        size_t max_receive_bytes = kMaxFrameBytes);

// Keeps gRPC's own lines off standard error, unless GRPC_VERBOSITY asks for them. Before any other call of
// gRPC.
void QuietGrpc();

}  // namespace ssd

#endif  // SSD_COMMON_WIRE_GRPC_FRAME_H_
