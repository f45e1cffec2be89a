#include "tests/integration/ends_raw_stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>

#include "common/wire/grpc_frame.h"
#include "tests/testing/process.h"

namespace ssd {

struct RawStream::Call {
  // True: the operation went well. One operation at a time, so its tag needs no look.
  bool Await() {
    void* tag = nullptr;
    bool ok = false;
    const auto deadline = std::chrono::system_clock::now() + testing::kPatience;
    timed_out = queue.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT;
    return ok && !timed_out;
  }

  BufferPool pool;
  grpc::CompletionQueue queue;
  std::unique_ptr<grpc::GenericStub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
  bool timed_out = false;
};

RawStream::RawStream(const std::string& address) : call_(std::make_unique<Call>()) {
  grpc::ChannelArguments arguments;
  for (const GrpcArgument& argument : GrpcArguments(absl::Seconds(10)))
    arguments.SetInt(argument.name, argument.value);
  call_->stub = std::make_unique<grpc::GenericStub>(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  call_->context.set_wait_for_ready(true);
  call_->stream =
      call_->stub->PrepareCall(&call_->context, "/ssd.v1.ParameterService/Session", &call_->queue);
  call_->stream->StartCall(this);
  call_->Await();
}

RawStream::~RawStream() {
  call_->context.TryCancel();
  call_->queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (call_->queue.Next(&tag, &ok)) {
  }
}

bool RawStream::SendBytes(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  call_->stream->Write(grpc::ByteBuffer(&slice, 1), this);
  return call_->Await();
}

bool RawStream::Send(const WorkerFrame& frame) {
  call_->stream->Write(ToByteBuffer(frame), this);
  return call_->Await();
}

std::optional<ServerFrame> RawStream::Read() {
  grpc::ByteBuffer bytes;
  call_->stream->Read(&bytes, this);
  if (!call_->Await()) return std::nullopt;
  absl::StatusOr<ServerFrame> frame = FromByteBuffer<v1::ServerHeader>(bytes, call_->pool);
  if (!frame.ok()) return std::nullopt;
  return *std::move(frame);
}

absl::Status RawStream::ReadToTheEnd() {
  while (Read().has_value()) {
  }
  if (call_->timed_out) return absl::DeadlineExceededError("the stream goes on");
  grpc::Status status;
  call_->stream->Finish(&status, this);
  if (!call_->Await()) return absl::DeadlineExceededError("the stream does not finish");
  return FromGrpcStatus(status);
}

}  // namespace ssd
