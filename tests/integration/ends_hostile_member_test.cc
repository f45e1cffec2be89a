// A member that wants too much of a shard: its memory stays within the bound of docs/concurrency.md, and the run, which
// cannot go on without the member, ends for everybody with its name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/partition.h"
#include "common/wire/frame.h"
#include "tests/integration/ends_cluster.h"
#include "tests/integration/ends_member.h"
#include "tests/integration/ends_memory.h"
#include "tests/integration/ends_raw_http2.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::Process;
using ::testing::AllOf;
using ::testing::HasSubstr;

// docs/concurrency.md, "Members", for automatic blocks and k = 4.
constexpr int64_t kOpenSteps = 4 + 1;
constexpr int64_t kFrame = static_cast<int64_t>(kMaxHeaderBytes) + kMaxAutoBlockBytes + 32;
constexpr int64_t kComing = 2 * kFrame + (128 << 10);  // one frame on its way, and the connection
constexpr int64_t kUnhandled = 16 * kFrame;
constexpr int64_t kReports = 2 * 2048 * 512;
constexpr Version kLast(1'000'000);

// Shards and worker 0 are real; worker 1 is this test, which is a good member for a few steps. The model has 11 MB, so
// that a copy of a shard's half shows.
class EndsHostileMemberTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (HasFailure() && cluster_.has_value()) ADD_FAILURE() << cluster_->Outputs();
  }

  void Start(std::vector<std::string> settings) {
    const NoQuarantine no_quarantine;
    // The warm-up has no end: after each step a worker waits for all the others.
    settings.insert(settings.begin(), {"model.name=custom", "model.layers=[1, 1, 1]", "model.width=96",
                                       "training.batch_size=2", "sync.warmup=1000000it"});
    cluster_.emplace(settings);
    member_.emplace(*cluster_);
    others_ = {&cluster_->StartShard(0), &cluster_->StartShard(1), &cluster_->StartWorker(0)};
    watch_.emplace(*others_[0]);
  }

  // Trains until a shard has all the memory that it takes for that.
  void Begin(const std::vector<std::string>& settings = {"cluster.peer_timeout=10m"}) {
    Start(settings);
    ASSERT_NO_FATAL_FAILURE(member_->Join());
    for (; next_ < Step(5); ++next_) ASSERT_NO_FATAL_FAILURE(member_->Train(next_));
    before_ = PeakBytes(*others_[0]);
  }

  // The run ends, for all others, because of worker 1 and for this reason. `allowed`: how much memory shard 0 may have
  // taken since Begin.
  void ExpectTheEnd(int64_t allowed, const std::string& why) {
    for (Process* process : others_) {
      EXPECT_EQ(process->Wait(), 200) << process->name();
      EXPECT_THAT(process->LastLine(),
                  AllOf(HasSubstr("exit code=200"), HasSubstr("lost worker 1 at step "), HasSubstr(why)))
          << process->name();
    }
    others_[0]->Signal(SIGKILL);  // if it hangs
    const int64_t grown = watch_->Bytes() - before_;
    RecordProperty("grown_kib", static_cast<int>(grown >> 10));
    RecordProperty("allowed_kib", static_cast<int>(allowed >> 10));
    RecordProperty("before_kib", static_cast<int>(before_ >> 10));
    EXPECT_LE(grown, allowed) << "from " << before_;
  }

  // To shard 0.
  bool Send(const WorkerFrame& frame) { return member_->stream(0).Send(frame); }

  // A step of both workers, seen from shard 1; of shard 0 nothing is read.
  bool TrainOn() {
    const Version after(next_.value() + 1);
    if (!member_->Skip(next_) || !member_->stream(1).Send(member_->Pull(1, after)) || !member_->ReadBlocks(1))
      return false;
    ++next_;
    return true;
  }

  Version version() const { return Version(next_.value()); }
  int64_t shard_bytes() const { return member_->BytesOf(0); }

  std::optional<PeakWatch> watch_;  // outlives the processes
  std::optional<EndsCluster> cluster_;
  std::optional<EndsMember> member_;
  std::vector<Process*> others_;
  Step next_{0};
  int64_t before_ = 0;
};

TEST_F(EndsHostileMemberTest, RepliesThatAreNotReadAreTwoCopiesAtMost) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  for (int i = 0; i < 12 && Send(member_->Pull(0, version())) && TrainOn(); ++i) {
  }
  ExpectTheEnd(2 * shard_bytes() + kComing, "worker 1 asks for more than it reads");
}

TEST_F(EndsHostileMemberTest, PullsOfVersionsToComeCountLikeReplies) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  for (int i = 0; i < 6; ++i) {
    if (!Send(member_->Pull(0, version() + 1)) || !Send(member_->Pull(0, version() + 2))) break;
    if (!TrainOn() || !TrainOn()) break;
  }
  ExpectTheEnd(2 * shard_bytes() + kComing, "worker 1 asks for more than it reads");
}

TEST_F(EndsHostileMemberTest, PushesAheadAreAsManyAsTheScheduleHas) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  bool goes_on = true;
  for (Step step = next_; step < next_ + 20; ++step) {
    for (const Block& block : member_->partition().blocks()) {
      if (block.shard != ShardId(0) || block.kind != Block::Kind::kParameters) continue;
      goes_on = goes_on && Send(EndsMember::Push(block, 0, step));
    }
  }
  ExpectTheEnd(kOpenSteps * shard_bytes() + kUnhandled + kComing,
               absl::StrCat(kOpenSteps + 1, " steps ahead, the schedule allows ", kOpenSteps));
}

// It stays within all limits, and the run waits for it no longer than for others.
TEST_F(EndsHostileMemberTest, PushesThatAreHeldAreSixteenAtMost) {
  ASSERT_NO_FATAL_FAILURE(Begin({"server.deterministic=true", "cluster.peer_timeout=5s"}));
  Send(member_->Pull(0, kLast));
  const WorkerFrame push = EndsMember::Push(member_->FirstBlockOf(0), 0, next_ + 50);
  for (int i = 0; i < 64 && Send(push); ++i) {
  }
  ExpectTheEnd(kUnhandled + kComing, "peer_timeout is 5s");
}

TEST_F(EndsHostileMemberTest, PayloadsOfAllSizesAreNotKept) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  WorkerFrame frame = EndsMember::Frame();
  for (int i = 0; i < 64; ++i) {
    frame.header.mutable_report()->set_step(static_cast<uint64_t>(i + 1));
    frame.payload = Buffer::Copy(std::vector<float>(kMaxAutoBlockBytes / sizeof(float) - i));
    if (!Send(frame)) break;
  }
  ExpectTheEnd(kUnhandled + kComing, "a payload of 262144 floats in a frame that has none");
}

TEST_F(EndsHostileMemberTest, ReportsAreKeptWithoutWhatNobodyKnows) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  WorkerFrame frame = EndsMember::Frame();
  v1::Report& report = *frame.header.mutable_report();
  report.GetReflection()->MutableUnknownFields(&report)->AddLengthDelimited(1000, std::string(40'000, 'x'));
  bool goes_on = true;
  for (uint64_t step = 1; step <= 3000 && goes_on; ++step) {
    report.set_step(step);
    goes_on = Send(frame);
  }
  ExpectTheEnd(kReports + kUnhandled + kComing, "2048 others wait for the other workers");
}

TEST_F(EndsHostileMemberTest, AnEvaluationIsGivenOnce) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  WorkerFrame frame = EndsMember::Frame();
  frame.header.mutable_evaluated()->set_version(static_cast<uint64_t>(kLast.value()));
  for (int i = 0; i < 3000 && Send(frame); ++i) {
  }
  ExpectTheEnd(kReports + kUnhandled + kComing, "worker 1 has reported 1000000 before");
}

// Training is part of what is allowed here, as docs/concurrency.md counts a shard's own copies.
TEST_F(EndsHostileMemberTest, WhatIsDeclaredAndNotSentTakesNoMemory) {
  for (const uint32_t declared : {static_cast<uint32_t>(kFrame), 0xFFFFFFFF}) {
    Start({"cluster.peer_timeout=10m"});
    ASSERT_TRUE(others_[0]->WaitForLine("listening"));
    before_ = PeakBytes(*others_[0]);
    ASSERT_NO_FATAL_FAILURE(member_->SayHello(1));
    {
      RawHttp2 peer(cluster_->addresses()[0]);
      ASSERT_TRUE(peer.connected() && peer.OpenStream(1));
      const auto say = [&peer](const WorkerFrame& frame) {
        const std::string bytes = Encode(frame);
        return peer.SendData(1, MessageDeclaring(static_cast<uint32_t>(bytes.size()), bytes));
      };
      ASSERT_TRUE(say(member_->Hello(0)));
      ASSERT_TRUE(others_[0]->WaitForLine("present=2/2"));
      ASSERT_TRUE(say(member_->Pull(0, Version(0))));
      ASSERT_TRUE(peer.SendData(1, MessageDeclaring(declared, std::string(40'000, '\x0a'))));
    }
    ExpectTheEnd((2 + 4 + 2 + kOpenSteps) * shard_bytes() + kComing, "");
  }
}

}  // namespace
}  // namespace ssd
