// GrpcSession against a stream that the test plays, with gRPC's threads where the test wants them.
#include "server/grpc_session.h"

#include <algorithm>
#include <deque>
#include <map>
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
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// gRPC's end of a server's stream.
class FakeStream : public grpc::ServerCallbackReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

  explicit FakeStream(Reactor& reactor) : reactor_(reactor) { BindReactor(&reactor_); }

  bool reading() const { return reading_ != nullptr; }
  const std::optional<grpc::Status>& finished() const { return finished_; }
  bool cancelled() const { return cancelled_; }
  // From now on the worker takes nothing, and writes stay in flight.
  void StopTaking() { taking_ = false; }

  // A frame comes from the worker. REQUIRES: reading().
  void Arrive(const WorkerFrame& frame) { Arrive(ToByteBuffer(frame)); }
  void Arrive(const grpc::ByteBuffer& bytes) {
    CHECK(reading());
    *std::exchange(reading_, nullptr) = bytes;
    reactor_.OnReadDone(true);
  }
  // What GrpcSession's cancel does: all operations in flight fail.
  void Cancel() {
    if (std::exchange(cancelled_, true)) return;
    reactor_.OnCancel();
    if (std::exchange(reading_, nullptr) != nullptr) reactor_.OnReadDone(false);
    if (std::exchange(writing_, false)) reactor_.OnWriteDone(false);
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
  void Write(const grpc::ByteBuffer*, grpc::WriteOptions) override {
    if (taking_) {
      reactor_.OnWriteDone(true);
    } else {
      writing_ = true;
    }
  }
  void WriteAndFinish(const grpc::ByteBuffer*, grpc::WriteOptions, grpc::Status) override {}
  grpc::internal::ServerReactor* reactor() override { return &reactor_; }
  void CallOnDone() override {}

  Reactor& reactor_;
  grpc::ByteBuffer* reading_ = nullptr;
  bool taking_ = true;
  bool writing_ = false;
  bool cancelled_ = false;
  std::optional<grpc::Status> finished_;
};

// The shard's executor, whose thread gets a turn exactly where a test says.
class SteppedExecutor : public Executor {
 public:
  void Post(Task task) override {
    if (before_post != nullptr) std::exchange(before_post, nullptr)();
    tasks_.push_back(std::move(task));
  }
  void PostAfter(absl::Duration delay, Task task) override { timers_.emplace(delay, std::move(task)); }
  // Timers of this delay and shorter ones come due, but not those that they start.
  void RunTimers(absl::Duration delay) {
    std::vector<Task> due;
    while (!timers_.empty() && timers_.begin()->first <= delay) {
      due.push_back(std::move(timers_.extract(timers_.begin()).mapped()));
    }
    for (Task& task : due) {
      std::move(task)();
      RunAll();
    }
  }
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
  std::multimap<absl::Duration, Task> timers_;
};

// A shard of a run with one worker, and that worker's stream.
class GrpcSessionTest : public ::testing::Test {
 protected:
  GrpcSessionTest() {
    shard_.Start();
    session_ = new GrpcSession({.cancel = [this] { stream_->Cancel(); }, .on_done = [this] { ++done_; }},
                               shard_, executor_, pool_);
    stream_ = std::make_unique<FakeStream>(*session_);
  }
  ~GrpcSessionTest() override {
    if (!stream_->finished().has_value()) stream_->End();
    executor_.RunAll();
    EXPECT_TRUE(stream_->finished().has_value());
    static_cast<FakeStream::Reactor*>(session_)->OnDone();
    EXPECT_EQ(done_, 1);
    executor_.RunAll();
    executor_.RunTimers(GrpcSession::kCloseTimeout);  // of a stream that is deleted
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
    executor_.RunAll();
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
                      return ShardPlan{
                          std::make_shared<SyncSchedule>(SyncScheduleOptions{.total_steps = 1000}),
                          std::make_shared<LearningRate>(LearningRateOptions{})};
                    }},
               executor_,
               clock_,
               &coordinator_,
               [](const v1::Hello&) {},
               [](const Ending&) {}};
  int done_ = 0;
  GrpcSession* session_;  // deletes itself
  std::unique_ptr<FakeStream> stream_;
};

TEST_F(GrpcSessionTest, ReadingStopsWhileTheInboxIsFull) {
  const uint64_t steps = FillInbox();
  EXPECT_EQ(steps, 16u);
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
  executor_.RunAll();
  for (uint64_t step = 1; step < 16; ++step) stream_->Arrive(Report(step));
  // The next frame fills the inbox. Just before it is posted the executor's thread takes all the others, and
  // if that makes gRPC read on, another thread brings the frame after it.
  executor_.before_post = [this] {
    executor_.RunAll();
    if (stream_->reading()) stream_->Arrive(Report(17));
  };
  stream_->Arrive(Report(16));
  executor_.RunAll();
  const std::vector<uint64_t> steps = ReportedSteps();
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end())) << ::testing::PrintToString(steps);
  EXPECT_THAT(steps, Contains(16));
  EXPECT_TRUE(stream_->reading());
}

TEST_F(GrpcSessionTest, NothingIsReadBehindAHelloBeforeItIsAccepted) {
  stream_->Arrive(Hello());
  EXPECT_FALSE(stream_->reading());
  executor_.RunAll();
  EXPECT_TRUE(stream_->reading());
}

TEST_F(GrpcSessionTest, NothingIsReadBehindAHelloThatIsRefused) {
  WorkerFrame hello = Hello();
  hello.header.mutable_hello()->set_protocol(99);
  stream_->Arrive(hello);
  executor_.RunAll();
  EXPECT_FALSE(stream_->reading());
  ASSERT_TRUE(stream_->finished().has_value());
  EXPECT_EQ(stream_->finished()->error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(GrpcSessionTest, APayloadBeforeTheHelloIsRefusedAndTakesNoBuffer) {
  WorkerFrame hello = Hello();
  hello.payload = Buffer::Copy(std::vector<float>(1000));
  stream_->Arrive(hello);
  executor_.RunAll();
  EXPECT_EQ(pool_.allocations(), 0);
  ASSERT_TRUE(stream_->finished().has_value());
  EXPECT_EQ(stream_->finished()->error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(stream_->finished()->error_message(), HasSubstr("behind a header that has no payload"));
}

// Two bytes of a header can be a hundred in memory, so that sixteen large ones would be too many.
TEST_F(GrpcSessionTest, NothingIsReadBehindALargeHeaderBeforeItIsHandled) {
  stream_->Arrive(Hello());
  executor_.RunAll();
  WorkerFrame pull;
  pull.header.set_generation(1);
  for (uint32_t i = 0; i < 5000; ++i) pull.header.mutable_pull()->add_blocks(i);
  stream_->Arrive(Report(1));
  ASSERT_TRUE(stream_->reading());
  stream_->Arrive(pull);
  EXPECT_FALSE(stream_->reading());
}

TEST_F(GrpcSessionTest, AClosedStreamWhosePeerTakesNothingIsCancelled) {
  stream_->StopTaking();
  WorkerFrame hello = Hello();
  hello.header.mutable_hello()->set_protocol(99);
  stream_->Arrive(hello);
  executor_.RunAll();
  EXPECT_FALSE(stream_->finished().has_value()) << "the goodbye is not written";
  executor_.RunTimers(GrpcSession::kCloseTimeout - absl::Milliseconds(1));
  EXPECT_FALSE(stream_->cancelled());
  executor_.RunTimers(GrpcSession::kCloseTimeout);
  EXPECT_TRUE(stream_->cancelled());
  EXPECT_TRUE(stream_->finished().has_value());
}

TEST_F(GrpcSessionTest, AStrangerThatIsExpelledIsCancelled) {
  executor_.RunAll();
  clock_.Advance(Shard::kHelloTimeout);
  executor_.RunTimers(absl::Seconds(1));  // the shard's look at its streams
  EXPECT_TRUE(stream_->cancelled());
  EXPECT_TRUE(stream_->finished().has_value());
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
