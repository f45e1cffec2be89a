#include "server/grpc_server.h"

#include <fcntl.h>
#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/io/errno_status.h"
#include "common/status_macros.h"
#include "common/wire/grpc_frame.h"
#include "server/grpc_session.h"
#include "ssd/v1/parameter_service.grpc.pb.h"

namespace ssd {
namespace {

using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// A connection that is busy with nothing, or not even with HTTP/2, is closed after this.
constexpr int kIdleConnectionMs = 10'000;

// Keeps a call, so that it can be cancelled at any time, done or not. (A server context is gone with its call's OnDone,
// which another thread may be about to run.)
class CallReference {
 public:
  explicit CallReference(grpc_call* call) : call_(call) { grpc_call_ref(call_); }
  CallReference(CallReference&& other) noexcept : call_(std::exchange(other.call_, nullptr)) {}
  CallReference& operator=(CallReference&&) = delete;
  ~CallReference() {
    if (call_ != nullptr) grpc_call_unref(call_);
  }
  void Cancel() { grpc_call_cancel(call_, nullptr); }

 private:
  grpc_call* call_;
};

// The end of a stream for which there is no room. Reads nothing.
class Refusal : public Reactor {
 public:
  explicit Refusal(grpc::CallbackServerContext& context) {
    Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "too many streams"));
    CallReference(context.c_call()).Cancel();  // it must not wait until the peer takes the status
  }
  void OnDone() override { delete this; }
};

// Opens a GrpcSession for every stream, up to a number.
class Service : public v1::ParameterService::WithRawCallbackMethod_Session<v1::ParameterService::Service> {
 public:
  Service(Shard& shard, Executor& executor) : shard_(shard), executor_(executor) {}

  Reactor* Session(grpc::CallbackServerContext* context) override {
    if (streams_.fetch_add(1) >= shard_.max_streams()) {
      --streams_;
      return new Refusal(*context);
    }
    return new GrpcSession({.cancel = [call = CallReference(context->c_call())]() mutable { call.Cancel(); },
                            .on_done = [this] { --streams_; }},
                           shard_, executor_, pool_);
  }

  int64_t allocations() const { return pool_.allocations(); }

 private:
  Shard& shard_;
  Executor& executor_;
  BufferPool pool_;
  std::atomic<int> streams_ = 0;  // that are not done
};

// A unix socket is taken over silently by whoever binds it last, so a lock on a file beside it says who has
// it.
class SocketLock {
 public:
  SocketLock() = default;
  SocketLock(SocketLock&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  SocketLock& operator=(SocketLock&&) = delete;
  ~SocketLock() {
    if (fd_ < 0) return;
    ::unlink(path_.c_str());
    ::close(fd_);
  }

  static absl::StatusOr<SocketLock> Take(const std::string& address) {
    SocketLock lock;
    if (!absl::StartsWith(address, "unix:")) return lock;
    const std::string socket(absl::StripPrefix(address, "unix:"));
    const std::string path = absl::StrCat(socket, ".lock");
    while (lock.fd_ < 0) {
      const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (fd < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(address, ": cannot create ", path, ": ", ErrnoText(errno)));
      }
      if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        ::close(fd);
        return absl::AlreadyExistsError(absl::StrCat(address, ": the address is in use"));
      }
      if (IsAt(path, fd)) {
        lock.path_ = path;
        lock.fd_ = fd;
      } else {
        ::close(fd);  // its last owner removed the file after it was opened here: this one locks nobody out
      }
    }
    ::unlink(socket.c_str());  // left over by a process that was killed: nobody holds the lock
    return lock;
  }

 private:
  // Whether the open file is the one that others find at `path`.
  static bool IsAt(const std::string& path, int fd) {
    struct stat opened, found;
    return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &found) == 0 && opened.st_dev == found.st_dev &&
           opened.st_ino == found.st_ino;
  }

  std::string path_;
  int fd_ = -1;
};

class RealGrpcServer final : public GrpcServer {
 public:
  RealGrpcServer(int port, SocketLock lock, std::unique_ptr<Service> service,
                 std::unique_ptr<grpc::Server> server)
      : port_(port), lock_(std::move(lock)), service_(std::move(service)), server_(std::move(server)) {}
  // Otherwise gRPC's own destructor would wait for as long as a client keeps its stream open.
  ~RealGrpcServer() override { Shutdown(absl::ZeroDuration()); }

  int port() const override { return port_; }
  int64_t allocations() const override { return service_->allocations(); }

  void Shutdown(absl::Duration grace) override {
    server_->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                   gpr_time_from_millis(absl::ToInt64Milliseconds(grace), GPR_TIMESPAN)));
  }

 private:
  const int port_;
  const SocketLock lock_;
  const std::unique_ptr<Service> service_;
  const std::unique_ptr<grpc::Server> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const std::string& address, Shard& shard,
                                                              Executor& executor,
                                                              absl::Duration peer_timeout) {
  ASSIGN_OR_RETURN(SocketLock lock, SocketLock::Take(address));
  auto service = std::make_unique<Service>(shard, executor);
  grpc::ServerBuilder builder;
  for (const GrpcArgument& argument : GrpcArguments(peer_timeout, shard.max_frame_bytes())) {
    builder.AddChannelArgument(argument.name, argument.value);
  }
  // A worker's connection has one stream, and has it at once.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleConnectionMs);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kIdleConnectionMs);
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(service.get());
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat(address, ": cannot listen: the address is in use, or is none of this machine"));
  }
  return std::make_unique<RealGrpcServer>(port, std::move(lock), std::move(service), std::move(server));
}

}  // namespace ssd
