// GrpcSession against a stream that the test plays, with gRPC's threads where the test wants them.
#include "server/grpc_session.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/logging.h"
#include "common/wire/grpc_frame.h"
#include "tests/testing/cluster.h"
#include "tests/testing/manual_executor.h"

namespace ssd {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

// gRPC's end of a server's stream.
class FakeStream : public grpc::ServerCallbackReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

  explicit FakeStream(Reactor& reactor) : reactor_(reactor) { BindReactor(&reactor_); }

  bool reading() const { return reading_ != nullptr; }
  const std::optional<grpc::Status>& finished() const { return finished_; }

  // A frame comes from the worker. REQUIRES: reading().
  void Arrive(const WorkerFrame& frame) { Arrive(ToByteBuffer(frame)); }
  void Arrive(const grpc::ByteBuffer& bytes) {
    CHECK(reading());
    *std::exchange(reading_, nullptr) = bytes;
    reactor_.OnReadDone(true);
  }
  // The worker's end of the stream has gone.
  void End() {
    reading_ = nullptr;
    reactor_.OnReadDone(false);
  }

 private:
  void Finish(grpc::Status status) override { finished_ = std::move(status); }
  void SendInitialMetadata() override {}
  void Read(grpc::ByteBuffer* to) override {
    EXPECT_FALSE(reading()) << "two reads in flight";
    reading_ = to;
  }
  void Write(const grpc::ByteBuffer*, grpc::WriteOptions) override { reactor_.OnWriteDone(true); }
  void WriteAndFinish(const grpc::ByteBuffer*, grpc::WriteOptions, grpc::Status) override {}
  grpc::internal::ServerReactor* reactor() override { return &reactor_; }
  void CallOnDone() override {}

  Reactor& reactor_;
  grpc::ByteBuffer* reading_ = nullptr;
  std::optional<grpc::Status> finished_;
};

// The shard's executor, whose thread gets a turn exactly where a test says.
class SteppedExecutor : public Executor {
 public:
  void Post(Task task) override {
    if (before_post != nullptr) std::exchange(before_post, nullptr)();
    tasks_.push_back(std::move(task));
  }
  void PostAfter(absl::Duration, Task) override {}
  void RunAll() {
    while (!tasks_.empty()) {
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      std::move(task)();
    }
  }

  absl::AnyInvocable<void()> before_post;  // runs once, in the next Post, before its task is there

 private:
  std::deque<Task> tasks_;
};

// A shard of a run with one worker, and that worker's stream.
class GrpcSessionTest : public ::testing::Test {
 protected:
  GrpcSessionTest() {
    shard_.Start();
    session_ = new GrpcSession(shard_, executor_, pool_);
    stream_ = std::make_unique<FakeStream>(*session_);
  }
  ~GrpcSessionTest() override {
    if (!stream_->finished().has_value()) stream_->End();
    executor_.RunAll();
    EXPECT_TRUE(stream_->finished().has_value());
    static_cast<FakeStream::Reactor*>(session_)->OnDone();
    executor_.RunAll();
  }

  static WorkerFrame Hello() {
    WorkerFrame frame;
    frame.header.mutable_hello()->set_protocol(1);
    frame.header.mutable_hello()->set_incarnation(1);
    frame.header.mutable_hello()->set_samples_per_epoch(1);
    v1::Hello::Tensor* tensor = frame.header.mutable_hello()->add_parameters();
    tensor->set_name("weight");
    tensor->add_shape(1);
    return frame;
  }
  static WorkerFrame Report(uint64_t step) {
    WorkerFrame frame;
    frame.header.set_generation(1);
    frame.header.mutable_report()->set_step(step);
    return frame;
  }
  std::vector<uint64_t> ReportedSteps() const {
    std::vector<uint64_t> steps;
    for (const v1::Report& report : observer_.reports) steps.push_back(report.step());
    return steps;
  }
  // Frames until the session reads no more.
  uint64_t FillInbox() {
    stream_->Arrive(Hello());
    uint64_t step = 0;
    while (stream_->reading() && step < 1000) stream_->Arrive(Report(++step));
    return step;
  }

  SteppedExecutor executor_;
  testing::ManualExecutor clock_;
  testing::RecordingObserver observer_;
  Coordinator coordinator_{1, observer_};
  BufferPool pool_;
  Shard shard_{{.plan =
                    [](int64_t) {
                      return ShardPlan{std::make_shared<SyncSchedule>(SyncScheduleOptions{.total_steps = 1000}),
                                       std::make_shared<LearningRate>(LearningRateOptions{})};
                    }},
               executor_,
               clock_,
               &coordinator_,
               [](const v1::Hello&) {},
               [](const Ending&) {}};
  GrpcSession* session_;  // deletes itself
  std::unique_ptr<FakeStream> stream_;
};

TEST_F(GrpcSessionTest, ReadingStopsWhileTheInboxIsFull) {
  const uint64_t steps = FillInbox();
  EXPECT_EQ(steps + 1, 16u) << "with the hello";
  EXPECT_THAT(ReportedSteps(), IsEmpty());

  executor_.RunAll();
  EXPECT_EQ(ReportedSteps().size(), steps);
  ASSERT_TRUE(stream_->reading());
  stream_->Arrive(Report(steps + 1));
  executor_.RunAll();
  EXPECT_EQ(ReportedSteps().back(), steps + 1);
}

TEST_F(GrpcSessionTest, FramesKeepTheirOrderWhenTheExecutorOvertakesAReaction) {
  stream_->Arrive(Hello());
  for (uint64_t step = 1; step < 15; ++step) stream_->Arrive(Report(step));
  // The next frame fills the inbox. Just before it is posted the executor's thread takes all the others, and
  // if that makes gRPC read on, another thread brings the frame after it.
  executor_.before_post = [this] {
    executor_.RunAll();
    if (stream_->reading()) stream_->Arrive(Report(16));
  };
  stream_->Arrive(Report(15));
  executor_.RunAll();
  const std::vector<uint64_t> steps = ReportedSteps();
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end())) << ::testing::PrintToString(steps);
  EXPECT_THAT(steps, Contains(15));
  EXPECT_TRUE(stream_->reading());
}

TEST_F(GrpcSessionTest, BytesThatAreNoFrameEndTheStreamAndAreTheLastToBeRead) {
  const grpc::Slice garbage("garbage");
  stream_->Arrive(grpc::ByteBuffer(&garbage, 1));
  EXPECT_FALSE(stream_->reading());
  executor_.RunAll();
  EXPECT_FALSE(stream_->reading());
  ASSERT_TRUE(stream_->finished().has_value());
  EXPECT_EQ(stream_->finished()->error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(GrpcSessionTest, EndOfAStreamWithoutAGoodbyeFinishesIt) {
  stream_->Arrive(Hello());
  executor_.RunAll();
  ASSERT_FALSE(stream_->finished().has_value());
  stream_->End();
  executor_.RunAll();
  ASSERT_TRUE(stream_->finished().has_value());
  EXPECT_EQ(stream_->finished()->error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace ssd
