// How the two ends find each other, and part.
#include <arpa/inet.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/wire/grpc_frame.h"
#include "server/grpc_server.h"
#include "tests/run/temporary_directory.h"
#include "tests/testing/grpc_cluster.h"
#include "worker/grpc_shard_channel.h"

namespace ssd {
namespace {

using ::testing::HasSubstr;
using testing::RunOn;

constexpr absl::Duration kDeadline = absl::Seconds(60);

// A shard of a run with one worker, with its thread.
struct HostedShard {
  ~HostedShard() {
    RunOn(executor, [] {});
  }

  Shard shard{{.plan =
                   [](int64_t) {
                     return ShardPlan{std::make_shared<SyncSchedule>(SyncScheduleOptions{}),
                                      std::make_shared<LearningRate>(LearningRateOptions{})};
                   }},
              executor,
              Clock::Real(),
              /*coordinator=*/nullptr,
              [](const v1::Hello&) {},
              [](const Ending&) {}};
  ThreadExecutor executor{"shard"};
};

// What a stream brings, for the test's thread to wait for.
class WaitingListener : public ShardChannel::Listener {
 public:
  void OnFrame(ShardId, ServerFrame frame) override {
    MutexLock lock(&mutex_);
    frame_ = std::move(frame);
    change_.NotifyAll();
  }
  void OnClosed(ShardId, const absl::Status& status) override {
    MutexLock lock(&mutex_);
    closed_ = status;
    change_.NotifyAll();
  }

  std::optional<ServerFrame> WaitForFrame() { return WaitFor(&WaitingListener::frame_); }
  bool heard() {
    MutexLock lock(&mutex_);
    return frame_.has_value();
  }
  absl::Status WaitForEnd() {
    return WaitFor(&WaitingListener::closed_)
        .value_or(absl::DeadlineExceededError("the stream is still open"));
  }

 private:
  template <typename T>
  std::optional<T> WaitFor(std::optional<T> WaitingListener::*what) {
    const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(kDeadline);
    MutexLock lock(&mutex_);
    while (!(this->*what).has_value() && change_.WaitUntil(&mutex_, deadline)) {
    }
    return this->*what;
  }

  Mutex mutex_;
  CondVar change_;
  std::optional<ServerFrame> frame_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mutex_);
};

// A worker's channels, and one that is open.
class Client {
 public:
  explicit Client(const std::string& address) : channels_({address}, executor_, kDeadline) {
    RunOn(executor_, [this] { channel_ = channels_.Open(ShardId(0), listener_); });
  }
  ~Client() {
    RunOn(executor_, [this] { channel_.reset(); });
    EXPECT_TRUE(channels_.WaitUntilDone(kDeadline));
  }
  void Send(const WorkerFrame& frame) {
    RunOn(executor_, [&] { channel_->Send(frame); });
  }
  WaitingListener& listener() { return listener_; }

 private:
  WaitingListener listener_;
  GrpcShardChannels channels_;
  std::unique_ptr<ShardChannel> channel_;
  ThreadExecutor executor_{"client"};
};

absl::StatusOr<std::unique_ptr<GrpcServer>> Listen(const std::string& address, HostedShard& hosted) {
  return GrpcServer::Start(address, hosted.shard, hosted.executor, kDeadline);
}

TEST(GrpcServerTest, SecondServerOnAnAddressIsRefused) {
  const TemporaryDirectory directory;
  HostedShard first, second;
  for (std::string address : {absl::StrCat("unix:", directory.File("socket")), std::string("127.0.0.1:0")}) {
    auto server = Listen(address, first);
    ASSERT_TRUE(server.ok()) << server.status();
    if (address == "127.0.0.1:0") address = absl::StrCat("127.0.0.1:", (*server)->port());
    const absl::Status taken = Listen(address, second).status();
    EXPECT_EQ(taken.code(), absl::StatusCode::kAlreadyExists) << address;
    EXPECT_THAT(std::string(taken.message()), HasSubstr(address));
    server->reset();
    EXPECT_TRUE(Listen(address, second).ok()) << address << " is free again";
  }
}

TEST(GrpcServerTest, GoesWhileAClientKeepsItsStreamOpen) {
  const TemporaryDirectory directory;
  HostedShard hosted;
  const std::string address = absl::StrCat("unix:", directory.File("socket"));
  auto server = Listen(address, hosted);
  ASSERT_TRUE(server.ok()) << server.status();
  Client client(address);
  WorkerFrame hello;
  hello.header.mutable_hello()->set_protocol(1);
  hello.header.mutable_hello()->set_samples_per_epoch(1);
  v1::Hello::Tensor* tensor = hello.header.mutable_hello()->add_parameters();
  tensor->set_name("weight");
  tensor->add_shape(1);
  client.Send(hello);
  ASSERT_TRUE(client.listener().WaitForFrame().has_value());
  server->reset();
  const absl::Status end = client.listener().WaitForEnd();
  EXPECT_TRUE(absl::IsUnavailable(end) || absl::IsCancelled(end)) << end;
}

// Greets every worker with bytes that are no frame, and with a good frame right after them.
class RudeService : public grpc::CallbackGenericService {
 private:
  class Stream : public grpc::ServerGenericBidiReactor {
   public:
    Stream() : garbage_(Bytes("garbage")) { StartWrite(&garbage_); }

   private:
    static grpc::ByteBuffer Bytes(const std::string& text) {
      const grpc::Slice slice(text);
      return grpc::ByteBuffer(&slice, 1);
    }
    void OnWriteDone(bool ok) override {
      if (ok && !std::exchange(greeted_, true)) StartWrite(&welcome_);
    }
    void OnCancel() override { Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }

    static ServerFrame Welcome() {
      ServerFrame frame;
      frame.header.mutable_welcome();
      return frame;
    }

    const grpc::ByteBuffer garbage_;
    const grpc::ByteBuffer welcome_ = ToByteBuffer(Welcome());
    bool greeted_ = false;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Stream;
  }
};

TEST(GrpcShardChannelTest, BytesThatAreNoFrameEndTheStreamAndNothingIsHeardAfterThem) {
  RudeService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  {
    Client client(absl::StrCat("127.0.0.1:", port));
    EXPECT_TRUE(absl::IsInvalidArgument(client.listener().WaitForEnd()));
    EXPECT_FALSE(client.listener().heard());
  }
  server->Shutdown();
}

// gRPC would cut a slow handshake short after its smallest back-off, time and again.
TEST(GrpcConnectTest, ServerThatIsSlowToAnswerIsNotDialledAgain) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  {
    Client client(absl::StrCat("127.0.0.1:", ntohs(address.sin_port)));
    pollfd dialled{.fd = listener, .events = POLLIN};
    ASSERT_EQ(::poll(&dialled, 1, static_cast<int>(absl::ToInt64Milliseconds(kDeadline))), 1);
    const int connection = ::accept(listener, nullptr, nullptr);
    ASSERT_GE(connection, 0);
    // Says nothing. What must not come is a second connection.
    EXPECT_EQ(::poll(&dialled, 1, /*milliseconds=*/1500), 0) << "the first connection was given up";
    ::close(connection);
  }
  ::close(listener);
}

}  // namespace
}  // namespace ssd
