#include "common/wire/grpc_frame.h"

#include <grpc/grpc.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace ssd {

grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& header, const Buffer& payload) {
  const std::string before = EncodeBeforePayload(header, payload.size_bytes());
  grpc::Slice slices[2] = {grpc::Slice(before), grpc::Slice()};
  if (payload.empty()) return grpc::ByteBuffer(slices, 1);
  auto* reference = new Buffer(payload);
  slices[1] = grpc::Slice(
      const_cast<float*>(payload.values().data()), payload.size_bytes(),
      [](void* held) { delete static_cast<Buffer*>(held); }, reference);
  return grpc::ByteBuffer(slices, 2);
}

std::vector<std::span<const uint8_t>> Pieces(const grpc::ByteBuffer& bytes,
                                             std::vector<grpc::Slice>& slices) {
  std::vector<std::span<const uint8_t>> pieces;
  if (!bytes.Dump(&slices).ok()) return pieces;
  pieces.reserve(slices.size());
  for (const grpc::Slice& slice : slices) pieces.emplace_back(slice.begin(), slice.size());
  return pieces;
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  // The two libraries number their codes alike.
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

std::vector<GrpcArgument> GrpcArguments(absl::Duration peer_timeout, size_t max_receive_bytes) {
  // A ping after half of the time and its answer within a quarter; the server allows pings twice as often.
  const int quarter =
      static_cast<int>(std::clamp<int64_t>(absl::ToInt64Milliseconds(peer_timeout) / 4, 250, 1'000'000'000));
  return {
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, static_cast<int>(max_receive_bytes)},
      {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, static_cast<int>(kMaxFrameBytes)},
      {GRPC_ARG_KEEPALIVE_TIME_MS, 2 * quarter},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, quarter},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
      {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, quarter},
      {GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0},
      {GRPC_ARG_ENABLE_HTTP_PROXY, 0},
      {GRPC_ARG_ALLOW_REUSEPORT, 0},
      {GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1},
      {GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100},
      // In spite of its name: how long an attempt may take, the handshake included. An attempt that is
      // refused is made again after the other two.
      {GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000},
      {GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000},
  };
}

// NOLINTNEXTLINE(concurrency-mt-unsafe): at the start of main, where there is no other thread.
void QuietGrpc() { setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0); }

}  // namespace ssd
