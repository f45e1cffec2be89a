// Why a run ends, and who is told what.
#include <limits>

#include "tests/server/session_fixture.h"

namespace ssd {
namespace {

using ::testing::AllOf;
using testing::FakeStream;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::ShardTest;
using testing::StatusIs;

using Code = absl::StatusCode;

class EndingTest : public ShardTest {
 protected:
  EndingTest() { Begin({}); }

  void Begin(const Setup& setup) {
    Make(setup);
    alice_ = &Join(0);
    bob_ = &Join(1);
  }

  FakeStream *alice_ = nullptr, *bob_ = nullptr;
};

TEST_F(EndingTest, AllWorkersDoneIsCode0) {
  TrainToTheEnd(*alice_, *bob_);
  SayGoodbye(*bob_, 0);
  EXPECT_EQ(bob_->session->state(), Session::State::kLeft);
  EXPECT_OK(bob_->closed.value());
  EXPECT_THAT(ending(), Pair(-1, "")) << "worker 0 is still there";
  bob_->session->OnStreamEnd(absl::OkStatus());
  EXPECT_THAT(ending(), Pair(-1, "")) << "who has left is not lost";
  SayGoodbye(*alice_, 0);
  EXPECT_THAT(ending(), Pair(0, ""));
  EXPECT_THAT(alice_->goodbye(), Pair(-1, "")) << "no goodbye to who has left";
}

TEST_F(EndingTest, AFrameAfterTheGoodbyeClosesAndHarmsNobody) {
  TrainToTheEnd(*alice_, *bob_);
  SayGoodbye(*bob_, 0);
  Push(*bob_, 0);
  EXPECT_EQ(bob_->session->state(), Session::State::kClosed);
  EXPECT_THAT(ending(), Pair(-1, ""));
}

TEST_F(EndingTest, WhoSaysDoneTooEarlyIsLost) {
  GiveInitial(*alice_);
  Push(*alice_, 0);
  Push(*bob_, 0);
  SayGoodbye(*bob_, 0);
  EXPECT_THAT(ending(), Pair(200, AllOf(HasSubstr("lost worker 1 at step 1"), HasSubstr("done"))));
  EXPECT_THAT(alice_->goodbye(), Pair(200, HasSubstr("lost worker 1")));
}

TEST_F(EndingTest, WhoSaysDoneBeforeTheStartIsLost) {
  Make({.num_workers = 2});
  SayGoodbye(Join(0), 0);
  EXPECT_THAT(ending(), Pair(200, HasSubstr("lost worker 0 before the first step")));
}

TEST_F(EndingTest, AMembersBadFrameIsALostPeerForTheOthers) {
  Push(*bob_, 77);
  EXPECT_THAT(*bob_->closed, StatusIs(Code::kInvalidArgument, HasSubstr("step 77")));
  EXPECT_THAT(ending(), Pair(200, AllOf(HasSubstr("lost worker 1 at step 0"), HasSubstr("step 77"))));
  EXPECT_THAT(alice_->goodbye(), Pair(200, HasSubstr("lost worker 1")));
  EXPECT_TRUE(alice_->closed.has_value());
}

TEST_F(EndingTest, ALostStreamSaysWhenTheWorkerWasLastHeard) {
  executor_.Advance(absl::Milliseconds(1500));
  bob_->session->OnStreamEnd(absl::UnavailableError("connection reset"));
  EXPECT_THAT(ending(), Pair(200, AllOf(HasSubstr("lost worker 1 at step 0; last heard 1.5s before"),
                                        HasSubstr("connection reset"))));
}

TEST_F(EndingTest, ASilentWorkerIsNamedWithItsStepAfterPeerTimeout) {
  GiveInitial(*alice_);
  Push(*alice_, 0);
  Push(*bob_, 0);
  Push(*alice_, 1);
  executor_.Advance(absl::Seconds(19));
  EXPECT_THAT(ending(), Pair(-1, ""));
  executor_.Advance(absl::Seconds(3));
  EXPECT_THAT(ending(), Pair(200, "lost worker 1 at step 1: nothing for 20s, peer_timeout is 20s"));
  EXPECT_THAT(bob_->goodbye(), Pair(200, HasSubstr("worker 1 at step 1")));
}

TEST_F(EndingTest, ThePeerTimeoutBeginsAnewWithEveryVersion) {
  Begin({.schedule = {.policy = SyncScheduleOptions::Policy::kSsgd, .total_steps = 10}});
  GiveInitial(*alice_);
  for (uint64_t step = 0; step < 5; ++step) {
    Push(*alice_, step);
    executor_.Advance(absl::Seconds(15));
    Push(*bob_, step);
    executor_.Advance(absl::Seconds(1));
  }
  EXPECT_THAT(ending(), Pair(-1, ""));
}

TEST_F(EndingTest, WhileAllComputeEachHasThePeerTimeoutForItsStep) {
  GiveInitial(*alice_);
  for (int i = 0; i < 3; ++i) {
    executor_.Advance(absl::Seconds(19));
    EXPECT_THAT(ending(), Pair(-1, ""));
    if (i == 0) Push(*alice_, 0);
    if (i == 0) Push(*bob_, 0);
    if (i == 1) Push(*alice_, 1);
    if (i == 1) Push(*bob_, 1);
  }
}

TEST_F(EndingTest, TheWaitForTheLastHelloIsNobodysSilence) {
  Make({.num_workers = 2});
  Join(1);
  executor_.Advance(absl::Seconds(29));
  Join(0);
  executor_.Advance(absl::Seconds(19));
  EXPECT_THAT(ending(), Pair(-1, ""));
}

TEST_F(EndingTest, WhenAllAreSilentAllAreNamed) {
  GiveInitial(*alice_);
  executor_.Advance(absl::Seconds(30));
  EXPECT_THAT(ending(), Pair(200, HasSubstr("lost worker 0 at step 0, worker 1 at step 0: nothing for 25s")));
}

TEST_F(EndingTest, ALoneWorkerThatFreezesIsNamed) {
  Make({.num_workers = 1});
  GiveInitial(Join(0));
  executor_.Advance(absl::Seconds(30));
  EXPECT_THAT(ending(), Pair(200, HasSubstr("lost worker 0 at step 0")));
}

TEST_F(EndingTest, WhoDoesNotSayGoodbyeAfterTheLastVersionIsNamed) {
  TrainToTheEnd(*alice_, *bob_);
  SayGoodbye(*alice_, 0);
  executor_.Advance(absl::Seconds(30));
  EXPECT_THAT(ending(), Pair(200, HasSubstr("lost worker 1 at step 2: nothing for 25s")));
}

TEST_F(EndingTest, WhoTalksOnAfterTheLastVersionIsNamed) {
  TrainToTheEnd(*alice_, *bob_);
  SayGoodbye(*alice_, 0);
  for (int i = 0; i < 49; ++i) {
    executor_.Advance(absl::Seconds(1));
    Pull(*bob_, 2);
  }
  EXPECT_THAT(ending(), Pair(-1, "")) << "it may evaluate for one time, and then take its leave for another";
  executor_.Advance(absl::Seconds(3));
  EXPECT_THAT(ending(), Pair(200, HasSubstr("lost worker 1 at step 2: nothing for 25s")));
}

// Nothing else waits for it: the others' next gradients wait for a pull of these statistics.
TEST_F(EndingTest, WhoGivesItsGradientsAndNotItsStatisticsIsNamed) {
  GiveInitial(*alice_);
  v1::WorkerHeader statistics = Header();
  statistics.mutable_push()->set_block(1);
  Give(*alice_, statistics, {1, 1});
  Push(*alice_, 0);
  Push(*bob_, 0);
  Push(*bob_, 1);  // it is ahead: all the same it is not worker 0 that holds up the run
  executor_.Advance(absl::Seconds(22));
  EXPECT_THAT(ending(), Pair(200, "lost worker 1 at step 0: nothing for 20s, peer_timeout is 20s"));
}

TEST_F(EndingTest, Worker0IsNamedWhenVersion0DoesNotCome) {
  Pull(*bob_, 0);
  executor_.Advance(absl::Seconds(22));
  EXPECT_THAT(ending(), Pair(200, HasSubstr("lost worker 0 at step 0")));
}

TEST_F(EndingTest, ANonFiniteGradientIsCode4ForAll) {
  GiveInitial(*alice_);
  Push(*bob_, 0, {1, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_THAT(ending(), Pair(4, HasSubstr("in the gradient of conv from worker 1 at step 0")));
  EXPECT_THAT(alice_->goodbye(), Pair(4, HasSubstr("conv")));
  EXPECT_THAT(bob_->goodbye(), Pair(4, HasSubstr("conv")));
}

TEST_F(EndingTest, NonFiniteInitialWeightsAreCode4) {
  v1::WorkerHeader header = Header();
  header.mutable_initial()->set_block(0);
  Give(*alice_, header, {1, std::numeric_limits<float>::infinity()});
  EXPECT_THAT(ending(), Pair(4, HasSubstr("in version 0 of conv from worker 0")));
  EXPECT_THAT(bob_->goodbye(), Pair(4, HasSubstr("conv")));
}

TEST_F(EndingTest, ADivergedWorkersGoodbyeOutranksTheLossOfItsStream) {
  SayGoodbye(*bob_, 4, "the loss of worker 1 at step 7 is not finite (nan)");
  bob_->session->OnStreamEnd(absl::CancelledError("gone"));
  EXPECT_THAT(ending(), Pair(4, "the loss of worker 1 at step 7 is not finite (nan)"));
  EXPECT_THAT(alice_->goodbye(), Pair(4, HasSubstr("worker 1 at step 7")));
}

TEST_F(EndingTest, WhatAWorkerWasToldItPassesOn) {
  for (int code : {200, 201}) {
    Begin({});
    SayGoodbye(*bob_, code, "lost worker 5 at step 9");
    EXPECT_THAT(ending(), Pair(code, "lost worker 5 at step 9"));
    EXPECT_THAT(alice_->goodbye(), Pair(code, "lost worker 5 at step 9"));
  }
}

TEST_F(EndingTest, WhatHappenedToAWorkerItselfIsALostPeerWithItsName) {
  for (int code : {1, 2, 3, 5, 6, 130, 143, 202, -7, 1 << 20}) {
    Begin({});
    SayGoodbye(*bob_, code, "no space left");
    EXPECT_THAT(ending(), Pair(200, HasSubstr("lost worker 1 at step 0; it left with exit code " +
                                              std::to_string(code) + ": no space left")));
    EXPECT_THAT(alice_->goodbye(), Pair(200, HasSubstr("lost worker 1")));
  }
}

TEST_F(EndingTest, ResultsThatCannotBeStoredAreCode6) {
  observer_.status = absl::ResourceExhaustedError("/runs/metrics.jsonl: no space left");
  for (FakeStream* stream : {alice_, bob_}) {
    v1::WorkerHeader header = Header();
    header.mutable_report()->set_step(1);
    Give(*stream, header);
  }
  EXPECT_THAT(ending(), Pair(6, "/runs/metrics.jsonl: no space left"));
  EXPECT_THAT(alice_->goodbye(), Pair(6, HasSubstr("no space left")));
}

TEST_F(EndingTest, StopEndsWithTheGivenCode) {
  shard_->Stop({.code = 143, .message = "SIGTERM"});
  EXPECT_THAT(ending(), Pair(143, "SIGTERM"));
  EXPECT_THAT(bob_->goodbye(), Pair(143, "SIGTERM"));
}

TEST_F(EndingTest, TheFirstEndingStands) {
  shard_->Stop({.code = 143, .message = "SIGTERM"});
  bob_->session->OnStreamEnd(absl::CancelledError("gone"));
  shard_->Stop({.code = 130, .message = "SIGINT"});
  executor_.Advance(absl::Minutes(10));
  EXPECT_THAT(ending(), Pair(143, "SIGTERM"));
}

TEST_F(EndingTest, FramesAfterTheEndAreIgnored) {
  shard_->Stop({.code = 143, .message = "SIGTERM"});
  const size_t sent = bob_->sent.size();
  Push(*bob_, 0);
  Pull(*bob_, 0);
  SayGoodbye(*bob_, 4);
  EXPECT_EQ(bob_->sent.size(), sent);
  EXPECT_THAT(ending(), Pair(143, "SIGTERM"));
}

}  // namespace
}  // namespace ssd
