// Why a worker's part in a run ends, and what it says then.
#include "tests/worker/parameter_client_fixture.h"

namespace ssd {
namespace {

using ParameterClientEndingTest = testing::ParameterClientTest;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST_F(ParameterClientEndingTest, RendezvousTimeoutNamesTheShardsThatAreMissing) {
  Join();
  shards_.Welcome(0, 1);
  executor_.Advance(absl::Seconds(31));
  EXPECT_FALSE(client_->ending()) << "the shards know better, and speak first";
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(goodbye(0), Pair(201, "no welcome from shard 1 (there:2) within rendezvous_timeout 30s"));
  CloseAll();
  EXPECT_THAT(ending(), Pair(201, HasSubstr("shard 1 (there:2)")));
}

TEST_F(ParameterClientEndingTest, AShardThatIsNotUpYetIsTriedAgain) {
  Join();
  shards_.Close(1, absl::UnavailableError("connection refused"));
  EXPECT_EQ(shards_.opened(1), 1);
  executor_.Advance(absl::Milliseconds(250));
  EXPECT_EQ(shards_.opened(1), 2);
  EXPECT_EQ(shards_.sent(1).size(), 2u);
  EXPECT_TRUE(shards_.last(1).header.has_hello()) << "it says hello again";
  shards_.Welcome(1);
  shards_.Welcome(0, 1);
  EXPECT_EQ(joined_, 1);
}

TEST_F(ParameterClientEndingTest, RetriesEndAtTheRendezvousTimeout) {
  Join();
  for (int i = 0; i < 400 && !client_->ending(); ++i) {
    for (int shard : {0, 1}) shards_.Close(shard, absl::UnavailableError("connection refused"));
    executor_.Advance(absl::Milliseconds(200));
  }
  executor_.Advance(absl::Seconds(5));
  EXPECT_THAT(ending(), Pair(201, AllOf(HasSubstr("shard 0 (here:1)"), HasSubstr("shard 1 (there:2)"))));
}

TEST_F(ParameterClientEndingTest, ARefusalIsNotTriedAgain) {
  Join();
  shards_.Close(1, absl::PermissionDeniedError("not with this token"));
  EXPECT_TRUE(client_->ending());
  shards_.Close(0, absl::OkStatus());
  EXPECT_THAT(ending(),
              Pair(1, AllOf(HasSubstr("shard 1 (there:2) closed the session"), HasSubstr("token"))));
}

TEST_F(ParameterClientEndingTest, AnotherServiceAtAShardsAddressIsAMistakeOfTheConfiguration) {
  Join();
  shards_.Close(1, absl::UnimplementedError("unknown method"));
  shards_.Close(0, absl::OkStatus());
  EXPECT_THAT(ending(),
              Pair(2, "shard 1 (there:2) answers, but is no ssd-server of this version: unknown method"));
}

TEST_F(ParameterClientEndingTest, ALostShardNamesItselfAndTheStep) {
  BecomeMember();
  client_->Push(BlockId(0), Step(17), Buffer::Copy(std::vector<float>{5}));
  shards_.Close(1, absl::UnavailableError("connection reset"));
  EXPECT_THAT(goodbye(0), Pair(200, AllOf(HasSubstr("lost shard 1 (there:2) at step 17"),
                                          HasSubstr("connection reset"))));
  EXPECT_TRUE(shards_.half_closed(0));
  shards_.Close(0, absl::OkStatus());
  EXPECT_THAT(ending(), Pair(200, HasSubstr("lost shard 1 (there:2) at step 17")));
}

TEST_F(ParameterClientEndingTest, AShardThatClosesWithoutAWordIsLostToo) {
  BecomeMember();
  shards_.Close(0, absl::OkStatus());
  EXPECT_THAT(goodbye(1), Pair(200, HasSubstr("lost shard 0 (here:1)")));
}

TEST_F(ParameterClientEndingTest, AnUnansweredPullIsALostShardAfterPeerTimeout) {
  BecomeMember();
  client_->Push(BlockId(0), Step(4), Buffer::Copy(std::vector<float>{5}));
  PullAll(5);
  executor_.Advance(absl::Minutes(10));
  EXPECT_FALSE(client_->ending()) << "nobody awaits it yet";
  Await(5);
  shards_.Block(0, 0, 5, {0});
  shards_.Block(0, 2, 5, {0});
  executor_.Advance(absl::Seconds(21));
  EXPECT_FALSE(client_->ending()) << "the shards know better, and speak first";
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(goodbye(0),
              Pair(200, "lost shard 1 (there:2) at step 4: version 5 did not come within peer_timeout 20s"));
}

TEST_F(ParameterClientEndingTest, GoodbyesAreTakenOverAndPassedOn) {
  for (int code : {2, 4, 200, 201, 202}) {
    SetUpAnew();
    BecomeMember();
    shards_.Goodbye(1, code, "the cause");
    EXPECT_THAT(goodbye(0), Pair(code, "shard 1 (there:2) says: the cause"));
    CloseAll();
    EXPECT_THAT(ending(), Pair(code, "shard 1 (there:2) says: the cause"));
  }
}

TEST_F(ParameterClientEndingTest, WhatHappenedToAShardItselfIsALostPeerWithItsName) {
  for (int code : {1, 3, 5, 6, 130, 143, -1, 0}) {  // 0: it is done, and this worker is not
    SetUpAnew();
    BecomeMember();
    shards_.Goodbye(1, code, "no space left");
    const std::string left = absl::StrCat("it left with exit code ", code, ": no space left");
    EXPECT_THAT(goodbye(0), Pair(200, AllOf(HasSubstr("lost shard 1 (there:2) at step 0"), HasSubstr(left))));
  }
}

TEST_F(ParameterClientEndingTest, ACauseThatComesAfterItsConsequenceOutranksIt) {
  for (int code : {4, 202}) {
    SetUpAnew();
    BecomeMember();
    shards_.Goodbye(1, 200, "lost worker 3");
    shards_.Goodbye(0, code, "the cause");
    CloseAll();
    EXPECT_THAT(ending(), Pair(code, "shard 0 (here:1) says: the cause"));
  }
}

TEST_F(ParameterClientEndingTest, AConsequenceThatComesAfterTheCauseChangesNothing) {
  for (int code : {4, 202, 201, 143}) {
    SetUpAnew();
    BecomeMember();
    client_->End({.code = code, .message = "the cause"});
    shards_.Goodbye(1, 200, "lost worker 3");
    shards_.Goodbye(0, code == 4 ? 202 : 4, "another");
    CloseAll();
    EXPECT_THAT(ending(), Pair(code, "the cause"));
  }
}

TEST_F(ParameterClientEndingTest, AGoodbyeBeforeTheWelcomeEndsToo) {
  Join();
  shards_.Goodbye(0, 2, "sync.k: worker 3 has 8, shard 0 has 4");
  CloseAll();
  EXPECT_THAT(ending(), Pair(2, HasSubstr("sync.k")));
  EXPECT_EQ(joined_, 0);
}

TEST_F(ParameterClientEndingTest, TheFirstEndingStandsAndNothingIsSentAfterIt) {
  BecomeMember();
  PullAll(1);
  Await(1);
  client_->End({.code = 4, .message = "not finite"});
  EXPECT_TRUE(client_->ending());
  const size_t sent = shards_.sent(0).size();
  client_->End({.code = 6, .message = "disk full"});
  client_->Push(BlockId(0), Step(1), Buffer::Copy(std::vector<float>{5}));
  client_->Send(v1::Report());
  shards_.Goodbye(0, 200, "lost worker 3");
  AnswerAll(1);
  EXPECT_EQ(shards_.sent(0).size(), sent);
  EXPECT_THAT(pulled_, ElementsAre()) << "nobody goes on";
  EXPECT_THAT(ending(), Pair(-1, "")) << "the shards have not closed yet";
  CloseAll();
  EXPECT_THAT(ending(), Pair(4, "not finite"));
}

TEST_F(ParameterClientEndingTest, DoneIsCode0WhenAllShardsHaveClosed) {
  BecomeMember();
  client_->End({});
  EXPECT_THAT(goodbye(0), Pair(0, ""));
  EXPECT_TRUE(shards_.half_closed(0) && shards_.half_closed(1));
  shards_.Close(1, absl::OkStatus());
  EXPECT_THAT(ending(), Pair(-1, ""));
  shards_.Close(0, absl::OkStatus());
  EXPECT_THAT(ending(), Pair(0, ""));
}

TEST_F(ParameterClientEndingTest, AShardThatDoesNotCloseHoldsUpTheEndForSecondsOnly) {
  BecomeMember();
  client_->End({.code = 4, .message = "not finite"});
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(ending(), Pair(-1, ""));
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(ending(), Pair(4, "not finite"));
  shards_.Close(0, absl::OkStatus());
  executor_.Advance(absl::Minutes(10));
  EXPECT_THAT(ending(), Pair(4, "not finite"));
}

TEST_F(ParameterClientEndingTest, EndBeforeJoinEndsAtOnceAndJoinsNothing) {
  client_->End({.code = 143, .message = "SIGTERM"});
  EXPECT_THAT(ending(), Pair(143, "SIGTERM"));
  Join();
  EXPECT_EQ(shards_.opened(0), 0);
}

}  // namespace
}  // namespace ssd
