// Sessions of a shard: what streams say in any order, well-formed or not, to a run of two workers.
//
// The input is a sequence of events, each one byte, whose low two bits are a stream and whose others are what happens:
// 0: a frame comes, one byte of size and so many bytes; 1: likewise, with two floats for its payload, as every block has
// here; 2: the stream ends; 3: a second passes; others: as 0. A stream that is closed is opened anew by its next frame.
// Nothing crashes; frames come out in the order that the protocol has; the run ends once; pulls that wait are bounded.
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/wire/frame_queue.h"
#include "server/coordinator.h"
#include "server/shard.h"
#include "tests/fuzz/property.h"
#include "tests/testing/manual_executor.h"

namespace ssd {
namespace {

constexpr int kWorkers = 2;
constexpr int kStreams = 4;

// The shard's side of a stream.
class Sink : public FrameSink {
 public:
  void Send(ServerFrame frame) override {
    if (closed_) return;
    const bool is_block = frame.header.has_block();
    if (frame.header.has_welcome()) welcomed_ = true;
    SSD_PROPERTY(!is_block || welcomed_);
    SSD_PROPERTY(frame.payload.empty() != is_block);
    SSD_PROPERTY(!said_goodbye_);
    said_goodbye_ = frame.header.has_goodbye();
  }
  void Close(const absl::Status&) override { closed_ = true; }
  void Cancel(const absl::Status&) override { closed_ = true; }
  size_t queued_bytes() const override { return 0; }
  bool closed() const { return closed_; }

 private:
  bool closed_ = false;
  bool welcomed_ = false;
  bool said_goodbye_ = false;
};

struct Stream {
  std::unique_ptr<Sink> sink = std::make_unique<Sink>();
  Session* session = nullptr;
};

class Observer : public RunObserver {
 public:
  absl::Status OnReport(const v1::Report&, int, int64_t) override { return absl::OkStatus(); }
  absl::Status OnEvaluation(const v1::Evaluated&) override { return absl::OkStatus(); }
};

class Run {
 public:
  explicit Run(bool deterministic)
      : coordinator_(kWorkers, observer_),
        shard_(
            {.num_workers = kWorkers,
             .deterministic = deterministic,
             .block_bytes = 8,
             .fields = {{"k", "2"}},
             .plan =
                 [](int64_t) {
                   return ShardPlan{
                       std::make_shared<SyncSchedule>(SyncScheduleOptions{.k = 2, .total_steps = 8}),
                       std::make_shared<LearningRate>(LearningRateOptions{.total_steps = 8})};
                 }},
            executor_, executor_, &coordinator_, [](const v1::Hello&) {},
            [this](const Ending&) {
              SSD_PROPERTY(!ended_);
              ended_ = true;
            }) {
    shard_.Start();
  }
  ~Run() {
    for (Stream& stream : streams_) End(stream);
  }

  void Frame(int index, std::span<const uint8_t> bytes, size_t payload) {
    Stream& stream = streams_[index];
    if (stream.session != nullptr && stream.sink->closed()) End(stream);
    if (stream.session == nullptr) stream.session = &shard_.Open(*stream.sink);
    const std::vector<std::span<const uint8_t>> pieces = {bytes};
    absl::StatusOr<WorkerFrame> frame = DecodeFrame<v1::WorkerHeader>(pieces, pool_);
    if (!frame.ok()) return End(stream);
    if (payload > 0) frame->payload = Buffer::Copy(std::vector<float>(payload, 0.5f));
    stream.session->OnFrame(*std::move(frame), [] {});
    Check();
  }
  void End(int index) { End(streams_[index]); }
  void Second() {
    executor_.Advance(absl::Seconds(1));
    Check();
  }

 private:
  void End(Stream& stream) {
    if (stream.session == nullptr) return;
    stream.session->OnStreamEnd(absl::UnavailableError("ended"));
    stream = Stream();
    Check();
  }

  void Check() const {
    if (shard_.parameters() == nullptr) return;
    const ParameterShard& parameters = *shard_.parameters();
    SSD_PROPERTY(parameters.CompleteVersion() <= parameters.schedule().last_version());
    // Two pulls of all blocks for each stream that ever was a member's, of whom there can be two before the run ends, and
    // one that replaces another.
    SSD_PROPERTY(parameters.parked_pulls() * kQueuedMessageBytes <= (kWorkers + 1) * shard_.max_reply_bytes());
  }

  testing::ManualExecutor executor_;
  Observer observer_;
  Coordinator coordinator_;
  BufferPool pool_;
  Shard shard_;
  std::array<Stream, kStreams> streams_;
  bool ended_ = false;
};

void Check(std::span<const uint8_t> input) {
  if (input.empty()) return;
  Run run(/*deterministic=*/input[0] % 2 == 1);
  input = input.subspan(1);
  while (!input.empty()) {
    const int stream = input[0] % kStreams, event = input[0] / kStreams;
    input = input.subspan(1);
    if (event == 2) {
      run.End(stream);
    } else if (event == 3) {
      run.Second();
    } else if (!input.empty()) {
      const size_t size = std::min<size_t>(input[0], input.size() - 1);
      run.Frame(stream, input.subspan(1, size), event == 1 ? 2 : 0);
      input = input.subspan(1 + size);
    }
  }
}

}  // namespace
}  // namespace ssd

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  ssd::SetMinLogSeverity(ssd::LogSeverity::kFatal);
  ssd::QuietProtobuf();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ssd::Check({data, size});
  return 0;
}
