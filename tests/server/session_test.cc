// A worker's stream: what its frames do, what is refused, what is held.
#include "server/session.h"

#include <limits>

#include "tests/server/session_fixture.h"

namespace ssd {
namespace {

using ::testing::ElementsAre;
using testing::FakeStream;
using ::testing::HasSubstr;
using testing::HelloOf;
using ::testing::Pair;
using testing::ShardTest;
using ::testing::SizeIs;
using testing::StatusIs;

using Code = absl::StatusCode;
using SessionTest = ShardTest;

// Two members, and version 0 is there.
class MemberTest : public ShardTest {
 protected:
  MemberTest() { Begin({}); }

  void Begin(const Setup& setup) {
    Make(setup);
    alice_ = &Join(0);
    bob_ = &Join(1);
    GiveInitial(*alice_);
    alice_->sent.clear();
    bob_->sent.clear();
  }
  // The frame that was bad ended Bob's stream, and the run with his name.
  void ExpectBobIsLost(Code code, const std::string& why) {
    ASSERT_TRUE(bob_->closed.has_value());
    EXPECT_THAT(*bob_->closed, StatusIs(code, HasSubstr(why)));
    EXPECT_EQ(bob_->session->state(), Session::State::kClosed);
    EXPECT_THAT(ending(), Pair(200, HasSubstr("lost worker 1 at step 0")));
    EXPECT_THAT(alice_->goodbye(), Pair(200, HasSubstr("worker 1")));
  }

  FakeStream *alice_ = nullptr, *bob_ = nullptr;
};

TEST_F(SessionTest, TheFirstFrameOfAStrangerMustBeAHello) {
  FakeStream& stranger = Open();
  Push(stranger, 0);
  ASSERT_TRUE(stranger.closed.has_value());
  EXPECT_THAT(*stranger.closed, StatusIs(Code::kInvalidArgument, HasSubstr("must be a hello")));
  EXPECT_EQ(stranger.session->state(), Session::State::kClosed);
  EXPECT_THAT(ending(), Pair(-1, "")) << "nobody else notices";
}

TEST_F(SessionTest, AHelloThatAgreesMakesAMember) {
  FakeStream& alice = Join(0, /*incarnation=*/7);
  EXPECT_EQ(alice.session->state(), Session::State::kMember);
  EXPECT_EQ(alice.session->worker(), WorkerId(0));
  EXPECT_EQ(alice.session->incarnation(), Incarnation(7));
  EXPECT_EQ(alice.consumed, 1);
  EXPECT_FALSE(alice.welcomed()) << "worker 1 is not there";
}

TEST_F(SessionTest, FramesBeforeTheWelcomeAreRefused) {
  FakeStream& alice = Join(0);
  Pull(alice, 0);
  ASSERT_TRUE(alice.closed.has_value());
  EXPECT_THAT(*alice.closed, StatusIs(Code::kFailedPrecondition, HasSubstr("before the welcome")));
  EXPECT_THAT(ending(), Pair(200, HasSubstr("lost worker 0 before the first step")));
}

TEST_F(MemberTest, ASecondHelloIsABadFrame) {
  Say(*bob_, HelloOf(1, 2));
  ExpectBobIsLost(Code::kInvalidArgument, "a second hello");
}

TEST_F(MemberTest, PullsAreAnsweredWithTheBlocksAsTheyAre) {
  Pull(*bob_, 0, {0, 1});
  ASSERT_THAT(bob_->sent, SizeIs(2));
  EXPECT_EQ(bob_->sent[0].header.block().block(), 0u);
  EXPECT_EQ(bob_->sent[0].header.block().version(), 0u);
  EXPECT_EQ(bob_->sent[0].header.generation(), 1u);
  EXPECT_THAT(bob_->sent[0].payload.values(), ElementsAre(1, 2));
  EXPECT_EQ(bob_->sent[1].header.block().block(), 1u);
}

TEST_F(MemberTest, AParkedPullIsAnsweredWhenTheLastWorkerPushes) {
  Push(*alice_, 0, {1, 1});
  Pull(*alice_, 1);
  EXPECT_THAT(alice_->sent, SizeIs(0));
  Push(*bob_, 0, {3, 3});
  ASSERT_THAT(alice_->sent, SizeIs(1));
  EXPECT_THAT(alice_->sent[0].payload.values(), ElementsAre(-1, 0));
}

TEST_F(MemberTest, AParkedPullOfAStreamThatEndedIsForgotten) {
  Push(*alice_, 0);
  Pull(*alice_, 1);
  alice_->session->OnStreamEnd(absl::UnavailableError("gone"));  // deletes the session
  EXPECT_THAT(ending(), Pair(200, HasSubstr("lost worker 0 at step 0")));
  Push(*bob_, 0);  // nobody is called back; the sanitizers watch
  EXPECT_THAT(alice_->sent, SizeIs(0));
}

TEST_F(MemberTest, SkippedPushesCountWithoutAGradient) {
  Push(*alice_, 0, {5, 5});
  v1::WorkerHeader header = Header();
  header.mutable_push()->set_skipped(true);
  Give(*bob_, header);
  Pull(*bob_, 1);
  ASSERT_THAT(bob_->sent, SizeIs(1));
  EXPECT_THAT(bob_->sent[0].payload.values(), ElementsAre(-4, -3));
}

TEST_F(MemberTest, FramesOfAnOlderGenerationAreDropped) {
  Push(*bob_, 0, {1, 1}, /*generation=*/0);
  EXPECT_EQ(bob_->consumed, 2);
  Push(*bob_, 0, {1, 1});  // or this were given twice
  EXPECT_FALSE(bob_->closed.has_value());
  EXPECT_THAT(ending(), Pair(-1, ""));
}

TEST_F(MemberTest, AGenerationThatTheCoordinatorHasNotBegunIsRefused) {
  Push(*bob_, 0, {1, 1}, /*generation=*/2);
  ExpectBobIsLost(Code::kFailedPrecondition, "generation 2 has not begun, this is 1");
}

TEST_F(SessionTest, OtherShardsLearnTheGenerationFromTheirMembers) {
  Make({.num_workers = 1, .shard = ShardId(1), .block_bytes = 4});
  FakeStream& alice = Open();
  v1::Hello hello = HelloOf(0);
  hello.set_shard(1);
  Say(alice, hello);
  ASSERT_TRUE(alice.welcomed());
  EXPECT_EQ(alice.sent[0].header.generation(), 0u);
  v1::WorkerHeader header = Header(/*generation=*/1);
  header.mutable_initial()->set_block(1);
  Give(alice, header, {1});
  EXPECT_EQ(shard_->generation(), Generation(1));
  header = Header(/*generation=*/0);
  header.mutable_initial()->set_block(1);
  Give(alice, header, {1});
  EXPECT_FALSE(alice.closed.has_value()) << "older ones are dropped";
  // One member's frame must not make those of all others old.
  Give(alice, Header(/*generation=*/uint64_t{1} << 62));
  ASSERT_TRUE(alice.closed.has_value());
  EXPECT_THAT(*alice.closed, StatusIs(Code::kFailedPrecondition, HasSubstr("has not begun")));
  EXPECT_EQ(shard_->generation(), Generation(1));
}

TEST_F(MemberTest, InitialWeightsComeFromWorker0) {
  v1::WorkerHeader header = Header();
  header.mutable_initial()->set_block(0);
  Give(*bob_, header, {1, 2});
  ExpectBobIsLost(Code::kInvalidArgument, "initial weights come from worker 0");
}

TEST_F(MemberTest, AnEmptyFrameIsOfNoKnownKind) {
  Give(*bob_, Header());
  ExpectBobIsLost(Code::kInvalidArgument, "no known kind");
}

TEST_F(MemberTest, ErrorsOfAPushAreItsSenders) {
  Push(*bob_, 0, {1, 2, 3});
  ExpectBobIsLost(Code::kInvalidArgument, "got 3 floats, layout says 2");
}

// Or a pool would keep an array of every size that a worker can think of.
TEST_F(MemberTest, PayloadsOfFramesThatHaveNoneAreRefused) {
  const auto refuse = [this](auto fill) {
    Begin({});
    v1::WorkerHeader header = Header();
    fill(header);
    Give(*bob_, header, {1, 2});
    return bob_->closed.has_value() && bob_->closed->code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(refuse([](v1::WorkerHeader& header) { header.mutable_pull()->add_blocks(0); }));
  EXPECT_TRUE(refuse([](v1::WorkerHeader& header) { header.mutable_report()->set_step(1); }));
  EXPECT_TRUE(refuse([](v1::WorkerHeader& header) { header.mutable_push()->set_skipped(true); }));
  EXPECT_FALSE(refuse([](v1::WorkerHeader& header) { header.mutable_push()->set_block(0); }));
}

TEST_F(MemberTest, PayloadsOfAnOlderGenerationHaveABlocksSizeToo) {
  Push(*bob_, 0, {1, 2}, /*generation=*/0);
  EXPECT_FALSE(bob_->closed.has_value());
  Push(*bob_, 0, {1, 2, 3}, /*generation=*/0);
  ExpectBobIsLost(Code::kInvalidArgument, "a payload of 3 floats, which no block here has");
}

TEST_F(MemberTest, NumbersBeyondInt64AreRefused) {
  Push(*bob_, std::numeric_limits<uint64_t>::max());
  ExpectBobIsLost(Code::kInvalidArgument, "is not pushed after step -1");
}

TEST_F(MemberTest, PullsOfUnknownBlocksAreRefused) {
  Pull(*bob_, 0, {0, 4'000'000'000});
  ExpectBobIsLost(Code::kNotFound, "block 4000000000 of 2");
}

// Of the blocks of this test a reply counts 2 floats, 512 for a queued message, and 48 for its header.
constexpr size_t kReply = 2 * sizeof(float) + 512 + 48;

TEST_F(MemberTest, PullsBeyondTheBoundEndTheirStream) {
  Pull(*bob_, 1, {0, 0});
  Pull(*bob_, 2, {0, 0});
  EXPECT_FALSE(bob_->closed.has_value()) << "as much as two pulls of both blocks may be parked";
  Pull(*bob_, 1, {0});
  ExpectBobIsLost(Code::kResourceExhausted,
                  "568 bytes beside 2272 parked and 0 unsent, at most 2272 are allowed");
}

TEST_F(MemberTest, AnsweredPullsNoLongerCount) {
  for (int i = 0; i < 100; ++i) Pull(*bob_, 0, {0, 1, 0, 1});
  EXPECT_THAT(bob_->sent, SizeIs(400));
  EXPECT_FALSE(bob_->closed.has_value());
}

TEST_F(MemberTest, WhoDoesNotReadIsClosed) {
  bob_->queued = 3 * kReply;
  Pull(*bob_, 0);
  EXPECT_FALSE(bob_->closed.has_value());
  ++bob_->queued;
  Pull(*bob_, 0);
  ExpectBobIsLost(Code::kResourceExhausted, "1705 unsent");
}

TEST_F(MemberTest, WhatIsParkedAndWhatIsUnsentCountTogether) {
  Pull(*bob_, 1, {0, 0});
  bob_->queued = 2 * kReply;
  EXPECT_FALSE(bob_->closed.has_value());
  Pull(*bob_, 0);
  ExpectBobIsLost(Code::kResourceExhausted, "beside 1136 parked and 1136 unsent");
}

// A large block instead of every small one would be more than two pulls.
TEST_F(SessionTest, PullsCountByTheirBlocksSizes) {
  Make({.num_workers = 1, .block_bytes = 4096});
  FakeStream& alice = Open();
  v1::Hello hello = HelloOf(0);
  hello.mutable_parameters(0)->set_shape(0, 1024);
  Say(alice, hello);
  Pull(alice, 0, {0, 0});
  EXPECT_FALSE(alice.closed.has_value());
  Pull(alice, 0, {0});
  ASSERT_TRUE(alice.closed.has_value());
  EXPECT_THAT(*alice.closed, StatusIs(Code::kResourceExhausted, HasSubstr("4656 bytes beside 9312 parked")));
}

TEST_F(SessionTest, ReportsGoToShard0) {
  Make({.num_workers = 1, .shard = ShardId(1)});
  FakeStream& alice = Open();
  v1::Hello hello = HelloOf(0);
  hello.set_shard(1);
  Say(alice, hello);
  v1::WorkerHeader header = Header();
  header.mutable_report()->set_step(1);
  Give(alice, header);
  ASSERT_TRUE(alice.closed.has_value());
  EXPECT_THAT(*alice.closed, StatusIs(Code::kInvalidArgument, HasSubstr("reports go to shard 0")));
}

// Numbers that would overflow, or that no run can have.
TEST_F(SessionTest, ReportsOfWhatTheRunDoesNotHaveAreRefused) {
  const auto refuse = [this](auto fill) {
    Make({.num_workers = 1});
    FakeStream& alice = Join(0);
    v1::WorkerHeader header = Header();
    fill(header);
    Give(alice, header);
    return alice.closed.has_value() && alice.closed->code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(refuse([](v1::WorkerHeader& header) { header.mutable_report()->set_step(0); }));
  EXPECT_TRUE(refuse([](v1::WorkerHeader& header) { header.mutable_report()->set_step(3); }));
  EXPECT_TRUE(refuse([](v1::WorkerHeader& header) { header.mutable_report()->set_step(uint64_t{1} << 63); }));
  EXPECT_TRUE(refuse([](v1::WorkerHeader& header) {
    header.mutable_report()->set_step(1);
    header.mutable_report()->set_samples(uint64_t{1} << 63);
  }));
  EXPECT_TRUE(refuse([](v1::WorkerHeader& header) {
    header.mutable_report()->set_step(1);
    header.mutable_report()->set_bytes_pulled(uint64_t{1} << 63);
  }));
  EXPECT_TRUE(refuse([](v1::WorkerHeader& header) { header.mutable_evaluated()->set_version(1); }))
      << "the schedule evaluates version 2 alone";
  EXPECT_FALSE(refuse([](v1::WorkerHeader& header) { header.mutable_evaluated()->set_version(2); }));
}

class DeterministicMemberTest : public MemberTest {
 protected:
  DeterministicMemberTest() {
    Begin({.deterministic = true, .schedule = {.k = 4, .pull_overlap = 1, .total_steps = 12}});
  }
};

TEST_F(DeterministicMemberTest, APushThatIsTooEarlyIsHeldWithAllThatFollowsIt) {
  for (uint64_t step : {0, 1, 2, 3}) Push(*alice_, step);
  Pull(*alice_, 0);
  EXPECT_EQ(alice_->consumed, 3 + 2) << "a hello, two initial blocks and two pushes";
  EXPECT_THAT(alice_->sent, SizeIs(0)) << "the pull waits behind the push";
  Push(*bob_, 0);
  EXPECT_EQ(alice_->consumed, 3 + 3);
  Push(*bob_, 1);
  EXPECT_EQ(alice_->consumed, 3 + 5);
  EXPECT_THAT(alice_->sent, SizeIs(1));
  EXPECT_THAT(ending(), Pair(-1, ""));
}

TEST_F(DeterministicMemberTest, AGoodbyeOvertakesAPushThatIsHeld) {
  for (uint64_t step : {0, 1, 2, 3}) Push(*alice_, step);
  SayGoodbye(*alice_, 4, "the loss of worker 0 is not finite");
  EXPECT_THAT(ending(), Pair(4, "the loss of worker 0 is not finite"));
}

TEST_F(DeterministicMemberTest, APushBeyondTheEndIsRefusedAndNotHeld) {
  Push(*bob_, 1u << 20);
  ExpectBobIsLost(Code::kInvalidArgument, "is not pushed after step");
}

TEST_F(DeterministicMemberTest, HeldPushesOfAClosedSessionAreForgotten) {
  for (uint64_t step : {0, 1, 2, 3}) Push(*alice_, step);
  alice_->session->OnStreamEnd(absl::UnavailableError("gone"));
  EXPECT_THAT(ending(), Pair(200, HasSubstr("lost worker 0")));
}

}  // namespace
}  // namespace ssd
