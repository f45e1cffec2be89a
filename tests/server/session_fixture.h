// A Shard with streams that a test speaks through, on one thread in virtual time.
#ifndef SSD_TESTS_SERVER_SESSION_FIXTURE_H_
#define SSD_TESTS_SERVER_SESSION_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/coordinator.h"
#include "server/shard.h"
#include "tests/testing/manual_executor.h"

namespace ssd::testing {

// One worker's stream: what the shard has sent to it and how it was closed.
class FakeStream : public FrameSink {
 public:
  void Send(ServerFrame frame) override {
    if (!closed.has_value()) sent.push_back(std::move(frame));
  }
  void Close(const absl::Status& status) override {
    if (!closed.has_value()) closed = status;
  }
  void Cancel(const absl::Status& status) override {
    Close(status);
    cancelled = true;
  }
  size_t queued_bytes() const override { return queued; }

  // The code and message of the shard's goodbye; -1 when it has sent none.
  std::pair<int, std::string> goodbye() const {
    if (sent.empty() || !sent.back().header.has_goodbye()) return {-1, ""};
    return {sent.back().header.goodbye().code(), sent.back().header.goodbye().message()};
  }
  bool welcomed() const {
    for (const ServerFrame& frame : sent) {
      if (frame.header.has_welcome()) return true;
    }
    return false;
  }

  std::vector<ServerFrame> sent;
  std::optional<absl::Status> closed;
  bool cancelled = false;
  size_t queued = 0;
  Session* session = nullptr;
  int consumed = 0;  // frames that the session is done with
};

class Observer : public RunObserver {
 public:
  absl::Status OnReport(const v1::Report&, int, int64_t) override { return status; }
  absl::Status OnEvaluation(const v1::Evaluated&) override { return status; }
  absl::Status status;
};

// "conv" of 2 floats on block 0, "bn" of 2 floats on block 1; learning rate 1, no momentum.
inline v1::Hello HelloOf(uint32_t worker, uint64_t incarnation = 1) {
  v1::Hello hello;
  hello.set_protocol(1);
  hello.set_worker(worker);
  hello.set_incarnation(incarnation);
  hello.set_samples_per_epoch(50);
  hello.add_parameters()->set_name("conv");
  hello.mutable_parameters(0)->add_shape(2);
  hello.add_buffers()->set_name("bn");
  hello.mutable_buffers(0)->add_shape(2);
  for (const auto& [name, value] : {std::pair{"optimizer.lr", "1"}, std::pair{"sync.k", "4"}}) {
    v1::Hello::Field* field = hello.add_fields();
    field->set_name(name);
    field->set_value(value);
  }
  return hello;
}

class ShardTest : public ::testing::Test {
 protected:
  struct Setup {
    int num_workers = 2;
    bool deterministic = false;
    ShardId shard = ShardId(0);
    SyncScheduleOptions schedule = {.policy = SyncScheduleOptions::Policy::kSsgd, .total_steps = 2};
    std::optional<int64_t> block_bytes = 8;
  };

  ShardTest() { Make({}); }

  void Make(const Setup& setup) {
    coordinator_.emplace(setup.num_workers, observer_);
    starts_ = 0;
    endings_.clear();
    streams_.clear();
    shard_ = std::make_unique<Shard>(
        Shard::Options{.shard = setup.shard,
                       .num_shards = static_cast<int>(setup.shard.value()) + 1,
                       .num_workers = setup.num_workers,
                       .deterministic = setup.deterministic,
                       .block_bytes = setup.block_bytes,
                       .optimizer = {.momentum = 0},
                       .fields = {{"optimizer.lr", "1"}, {"sync.k", "4"}},
                       .plan =
                           [setup](int64_t) {
                             return ShardPlan{std::make_shared<SyncSchedule>(setup.schedule),
                                              std::make_shared<LearningRate>(
                                                  LearningRateOptions{.base = 1, .total_steps = 100})};
                           },
                       .rendezvous_timeout = absl::Seconds(30),
                       .peer_timeout = absl::Seconds(20)},
        executor_, executor_, setup.shard == ShardId(0) ? &*coordinator_ : nullptr,
        [this](const v1::Hello&) { ++starts_; },
        [this](const Ending& ending) { endings_.push_back(ending); });
    shard_->Start();
  }

  FakeStream& Open() {
    FakeStream& stream = *streams_.emplace_back(std::make_unique<FakeStream>());
    stream.session = &shard_->Open(stream);
    return stream;
  }

  void Give(FakeStream& stream, v1::WorkerHeader header, std::vector<float> payload = {}) {
    stream.session->OnFrame({.header = std::move(header), .payload = Buffer::Copy(payload)},
                            [&stream] { ++stream.consumed; });
  }

  void Say(FakeStream& stream, const v1::Hello& hello) {
    v1::WorkerHeader header;
    *header.mutable_hello() = hello;
    Give(stream, header);
  }

  FakeStream& Join(uint32_t worker, uint64_t incarnation = 1) {
    FakeStream& stream = Open();
    Say(stream, HelloOf(worker, incarnation));
    return stream;
  }

  static v1::WorkerHeader Header(uint64_t generation = 1) {
    v1::WorkerHeader header;
    header.set_generation(generation);
    return header;
  }
  void GiveInitial(FakeStream& stream) {
    for (uint32_t block : {0, 1}) {
      v1::WorkerHeader header = Header();
      header.mutable_initial()->set_block(block);
      Give(stream, header, {1, 2});
    }
  }
  void Push(FakeStream& stream, uint64_t step, std::vector<float> gradient = {1, 1},
            uint64_t generation = 1) {
    v1::WorkerHeader header = Header(generation);
    header.mutable_push()->set_step(step);
    Give(stream, header, std::move(gradient));
  }
  void Pull(FakeStream& stream, uint64_t version, std::vector<uint32_t> blocks = {0}) {
    v1::WorkerHeader header = Header();
    header.mutable_pull()->set_version(version);
    header.mutable_pull()->set_exact(true);
    for (uint32_t block : blocks) header.mutable_pull()->add_blocks(block);
    Give(stream, header);
  }
  void SayGoodbye(FakeStream& stream, int code, const std::string& message = "") {
    v1::WorkerHeader header = Header();
    header.mutable_goodbye()->set_code(code);
    header.mutable_goodbye()->set_message(message);
    Give(stream, header);
  }
  // All of a run of two workers up to its last version.
  void TrainToTheEnd(FakeStream& alice, FakeStream& bob) {
    GiveInitial(alice);
    for (uint64_t step : {0, 1}) {
      Push(alice, step);
      Push(bob, step);
    }
  }

  // The ending's code and message; -1 while the shard goes on.
  std::pair<int, std::string> ending() const {
    EXPECT_LE(endings_.size(), 1u) << "on_end is called once";
    if (endings_.empty()) return {-1, ""};
    return {endings_[0].code, endings_[0].message};
  }

  ManualExecutor executor_;
  Observer observer_;
  std::optional<Coordinator> coordinator_;
  std::vector<std::unique_ptr<FakeStream>> streams_;
  std::unique_ptr<Shard> shard_;
  int starts_ = 0;
  std::vector<Ending> endings_;
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_SERVER_SESSION_FIXTURE_H_
