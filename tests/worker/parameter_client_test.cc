#include "worker/parameter_client.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/fake_channel.h"
#include "tests/testing/manual_executor.h"

namespace ssd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FakeShards;
using ::testing::HasSubstr;
using testing::ManualExecutor;
using ::testing::Pair;

// Two shards of two one-float blocks each: 0 and 2 on shard 0, 1 and 3 on shard 1.
Partition FourBlocks() {
  ModelLayout layout;
  layout.parameters.Add("x", {4});
  return Partition(layout, /*num_shards=*/2, /*block_bytes=*/4);
}

class ParameterClientTest : public ::testing::Test {
 protected:
  ParameterClientTest() { SetUpAnew(); }

  void SetUpAnew() {
    endings_.clear();
    joined_ = 0;
    client_ =
        std::make_unique<ParameterClient>(ParameterClient::Options{.worker = WorkerId(3),
                                                                   .incarnation = Incarnation(9),
                                                                   .shard_names = {"here:1", "there:2"},
                                                                   .rendezvous_timeout = absl::Seconds(30),
                                                                   .peer_timeout = absl::Seconds(20)},
                                          FourBlocks(), shards_, executor_, executor_,
                                          [this](const Ending& ending) { endings_.push_back(ending); });
  }

  void Join() {
    v1::Hello hello;
    hello.set_samples_per_epoch(50);
    client_->Join(hello, [this] { ++joined_; });
  }
  void BecomeMember() {
    Join();
    shards_.Welcome(1);
    shards_.Welcome(0, /*generation=*/1);
    ASSERT_EQ(joined_, 1);
  }
  void PullAll(int64_t version) {
    client_->Pull(Version(version), {BlockId(0), BlockId(1), BlockId(2), BlockId(3)});
  }
  void Await(int64_t version) {
    client_->Await(Version(version),
                   [this](Version version, std::vector<ParameterClient::PulledBlock> blocks) {
                     std::string text = absl::StrCat("v", version.value());
                     for (const auto& block : blocks) {
                       absl::StrAppend(&text, " ", block.id.value(), "=", block.values.values()[0]);
                     }
                     pulled_.push_back(text);
                   });
  }
  void AnswerAll(uint64_t version) {
    shards_.Block(1, 3, version, {3});
    shards_.Block(0, 0, version, {0});
    shards_.Block(0, 2, version, {2});
    shards_.Block(1, 1, version, {1});
  }
  // Both shards answer the goodbye.
  void CloseAll() {
    for (int shard : {0, 1}) shards_.Close(shard, absl::OkStatus());
  }
  std::pair<int, std::string> goodbye(int shard) const {
    const v1::Goodbye& goodbye = shards_.last(shard).header.goodbye();
    return {shards_.last(shard).header.has_goodbye() ? goodbye.code() : -1, goodbye.message()};
  }
  std::pair<int, std::string> ending() const {
    EXPECT_LE(endings_.size(), 1u) << "on_end is called once";
    if (endings_.empty()) return {-1, ""};
    return {endings_[0].code, endings_[0].message};
  }

  ManualExecutor executor_;
  FakeShards shards_{2};
  std::unique_ptr<ParameterClient> client_;
  int joined_ = 0;
  std::vector<std::string> pulled_;
  std::vector<Ending> endings_;
};

TEST_F(ParameterClientTest, SaysHelloToEveryShardWithItsNumber) {
  Join();
  for (int shard : {0, 1}) {
    ASSERT_EQ(shards_.sent(shard).size(), 1u);
    const v1::WorkerHeader& header = shards_.last(shard).header;
    EXPECT_EQ(header.generation(), 0u);
    EXPECT_EQ(header.hello().protocol(), 1u);
    EXPECT_EQ(header.hello().worker(), 3u);
    EXPECT_EQ(header.hello().incarnation(), 9u);
    EXPECT_EQ(header.hello().shard(), static_cast<uint32_t>(shard));
    EXPECT_EQ(header.hello().samples_per_epoch(), 50u);
  }
}

TEST_F(ParameterClientTest, HasJoinedWhenAllShardsHaveWelcomed) {
  Join();
  shards_.Welcome(1);
  EXPECT_EQ(joined_, 0);
  shards_.Welcome(0, 1);
  EXPECT_EQ(joined_, 1);
  shards_.Welcome(0, 1);
  EXPECT_EQ(joined_, 1) << "once";
}

TEST_F(ParameterClientTest, FramesCarryTheGenerationOfShard0AndGoToTheBlocksShard) {
  BecomeMember();
  client_->Push(BlockId(3), Step(7), Buffer::Copy(std::vector<float>{5}));
  const WorkerFrame& push = shards_.last(1);
  EXPECT_EQ(push.header.generation(), 1u);
  EXPECT_EQ(push.header.push().block(), 3u);
  EXPECT_EQ(push.header.push().step(), 7u);
  EXPECT_THAT(push.payload.values(), ElementsAre(5));
  client_->SendInitial(BlockId(2), Buffer::Copy(std::vector<float>{6}));
  EXPECT_EQ(shards_.last(0).header.initial().block(), 2u);
  v1::Evaluated evaluated;
  evaluated.set_version(4);
  client_->Send(evaluated);
  EXPECT_EQ(shards_.last(0).header.evaluated().version(), 4u);
}

TEST_F(ParameterClientTest, APullIsOneFrameAShard) {
  BecomeMember();
  PullAll(8);
  for (uint32_t shard : {0, 1}) {
    EXPECT_EQ(shards_.sent(shard).size(), 2u);
    const v1::Pull& pull = shards_.last(shard).header.pull();
    EXPECT_EQ(pull.version(), 8u);
    EXPECT_TRUE(pull.exact());
    EXPECT_THAT(pull.blocks(), ElementsAre(shard, shard + 2));
  }
  client_->Pull(Version(9), {BlockId(0)});
  EXPECT_EQ(shards_.sent(1).size(), 2u) << "a shard without blocks is not asked";
}

TEST_F(ParameterClientTest, BlocksAreKeptAsideUntilTheyAreAwaited) {
  BecomeMember();
  PullAll(1);
  AnswerAll(1);
  executor_.RunUntilIdle();
  EXPECT_THAT(pulled_, ElementsAre());
  Await(1);
  EXPECT_THAT(pulled_, ElementsAre()) << "never inside Await";
  executor_.RunUntilIdle();
  EXPECT_THAT(pulled_, ElementsAre("v1 3=3 0=0 2=2 1=1")) << "in the order of their arrival";
}

TEST_F(ParameterClientTest, AwaitedPullsAreDeliveredWithTheirLastBlock) {
  BecomeMember();
  PullAll(1);
  Await(1);
  shards_.Block(1, 3, 1, {3});
  shards_.Block(0, 0, 1, {0});
  shards_.Block(0, 2, 1, {2});
  executor_.RunUntilIdle();
  EXPECT_THAT(pulled_, ElementsAre());
  shards_.Block(1, 1, 1, {1});
  executor_.RunUntilIdle();
  EXPECT_THAT(pulled_, ElementsAre("v1 3=3 0=0 2=2 1=1"));
}

TEST_F(ParameterClientTest, TwoPullsUnderWayDoNotMix) {
  BecomeMember();
  client_->Pull(Version(1), {BlockId(0)});
  client_->Pull(Version(2), {BlockId(0)});
  shards_.Block(0, 0, 2, {22});
  Await(1);
  executor_.RunUntilIdle();
  EXPECT_THAT(pulled_, ElementsAre());
  shards_.Block(0, 0, 1, {11});
  Await(2);
  executor_.RunUntilIdle();
  EXPECT_THAT(pulled_, ElementsAre("v1 0=11", "v2 0=22"));
}

TEST_F(ParameterClientTest, BlocksThatWereNotAskedForAreTheShardsBug) {
  struct Case {
    int shard;
    uint32_t block;
    uint64_t version;
    std::vector<float> values;
  };
  const Case cases[] = {{0, 2, 1, {1}},     // another block
                        {0, 0, 2, {1}},     // another version
                        {0, 0, 1, {1, 2}},  // another size
                        {0, 0, 1, {}},      // nothing
                        {1, 0, 1, {1}},     // another shard's block
                        {0, 4'000'000'000, 1, {1}}};
  for (const Case& each : cases) {
    SetUpAnew();
    BecomeMember();
    client_->Pull(Version(1), {BlockId(0)});
    shards_.Block(each.shard, each.block, each.version, each.values);
    CloseAll();
    EXPECT_THAT(ending(), Pair(1, AllOf(HasSubstr(each.shard == 0 ? "shard 0 (here:1)" : "shard 1 (there:2)"),
                                        HasSubstr("not asked for"))));
  }
}

TEST_F(ParameterClientTest, ABlockTwiceWasNotAskedForTwice) {
  BecomeMember();
  PullAll(1);
  shards_.Block(0, 0, 1, {1});
  shards_.Block(0, 0, 1, {1});
  EXPECT_THAT(goodbye(1), Pair(1, HasSubstr("block 0 at version 1")));
}

TEST_F(ParameterClientTest, BlocksOfAnOlderGenerationAreDropped) {
  BecomeMember();
  client_->Pull(Version(1), {BlockId(0)});
  shards_.Block(0, 0, 1, {7}, /*generation=*/0);
  EXPECT_FALSE(client_->ending());
  shards_.Block(0, 0, 1, {8}, /*generation=*/1);
  Await(1);
  executor_.RunUntilIdle();
  EXPECT_THAT(pulled_, ElementsAre("v1 0=8"));
}

TEST_F(ParameterClientTest, AFrameOfNoKnownKindIsTheShardsBug) {
  BecomeMember();
  shards_.Answer(1, {});
  EXPECT_THAT(goodbye(0), Pair(1, HasSubstr("shard 1 (there:2) sent a frame of no known kind")));
}

TEST_F(ParameterClientTest, RendezvousTimeoutNamesTheShardsThatAreMissing) {
  Join();
  shards_.Welcome(0, 1);
  executor_.Advance(absl::Seconds(31));
  EXPECT_FALSE(client_->ending()) << "the shards know better, and speak first";
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(goodbye(0), Pair(201, "no welcome from shard 1 (there:2) within rendezvous_timeout 30s"));
  CloseAll();
  EXPECT_THAT(ending(), Pair(201, HasSubstr("shard 1 (there:2)")));
}

TEST_F(ParameterClientTest, AShardThatIsNotUpYetIsTriedAgain) {
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

TEST_F(ParameterClientTest, RetriesEndAtTheRendezvousTimeout) {
  Join();
  for (int i = 0; i < 400 && !client_->ending(); ++i) {
    for (int shard : {0, 1}) shards_.Close(shard, absl::UnavailableError("connection refused"));
    executor_.Advance(absl::Milliseconds(200));
  }
  executor_.Advance(absl::Seconds(5));
  EXPECT_THAT(ending(), Pair(201, AllOf(HasSubstr("shard 0 (here:1)"), HasSubstr("shard 1 (there:2)"))));
}

TEST_F(ParameterClientTest, ARefusalIsNotTriedAgain) {
  Join();
  shards_.Close(1, absl::PermissionDeniedError("not with this token"));
  EXPECT_TRUE(client_->ending());
  shards_.Close(0, absl::OkStatus());
  EXPECT_THAT(ending(),
              Pair(1, AllOf(HasSubstr("shard 1 (there:2) closed the session"), HasSubstr("token"))));
}

TEST_F(ParameterClientTest, ALostShardNamesItselfAndTheStep) {
  BecomeMember();
  client_->Push(BlockId(0), Step(17), Buffer::Copy(std::vector<float>{5}));
  shards_.Close(1, absl::UnavailableError("connection reset"));
  EXPECT_THAT(goodbye(0), Pair(200, AllOf(HasSubstr("lost shard 1 (there:2) at step 17"),
                                          HasSubstr("connection reset"))));
  EXPECT_TRUE(shards_.half_closed(0));
  shards_.Close(0, absl::OkStatus());
  EXPECT_THAT(ending(), Pair(200, HasSubstr("lost shard 1 (there:2) at step 17")));
}

TEST_F(ParameterClientTest, AShardThatClosesWithoutAWordIsLostToo) {
  BecomeMember();
  shards_.Close(0, absl::OkStatus());
  EXPECT_THAT(goodbye(1), Pair(200, HasSubstr("lost shard 0 (here:1)")));
}

TEST_F(ParameterClientTest, AnUnansweredPullIsALostShardAfterPeerTimeout) {
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

TEST_F(ParameterClientTest, GoodbyesAreTakenOverAndPassedOn) {
  for (int code : {2, 4, 200, 201, 202}) {
    SetUpAnew();
    BecomeMember();
    shards_.Goodbye(1, code, "the cause");
    EXPECT_THAT(goodbye(0), Pair(code, "shard 1 (there:2) says: the cause"));
    CloseAll();
    EXPECT_THAT(ending(), Pair(code, "shard 1 (there:2) says: the cause"));
  }
}

TEST_F(ParameterClientTest, WhatHappenedToAShardItselfIsALostPeerWithItsName) {
  for (int code : {1, 3, 5, 6, 130, 143, -1, 0}) {  // 0: it is done, and this worker is not
    SetUpAnew();
    BecomeMember();
    shards_.Goodbye(1, code, "no space left");
    const std::string left = absl::StrCat("it left with exit code ", code, ": no space left");
    EXPECT_THAT(goodbye(0), Pair(200, AllOf(HasSubstr("lost shard 1 (there:2) at step 0"), HasSubstr(left))));
  }
}

TEST_F(ParameterClientTest, ACauseThatComesAfterItsConsequenceOutranksIt) {
  for (int code : {4, 202}) {
    SetUpAnew();
    BecomeMember();
    shards_.Goodbye(1, 200, "lost worker 3");
    shards_.Goodbye(0, code, "the cause");
    CloseAll();
    EXPECT_THAT(ending(), Pair(code, "shard 0 (here:1) says: the cause"));
  }
}

TEST_F(ParameterClientTest, AConsequenceThatComesAfterTheCauseChangesNothing) {
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

TEST_F(ParameterClientTest, AGoodbyeBeforeTheWelcomeEndsToo) {
  Join();
  shards_.Goodbye(0, 2, "sync.k: worker 3 has 8, shard 0 has 4");
  CloseAll();
  EXPECT_THAT(ending(), Pair(2, HasSubstr("sync.k")));
  EXPECT_EQ(joined_, 0);
}

TEST_F(ParameterClientTest, TheFirstEndingStandsAndNothingIsSentAfterIt) {
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

TEST_F(ParameterClientTest, DoneIsCode0WhenAllShardsHaveClosed) {
  BecomeMember();
  client_->End({});
  EXPECT_THAT(goodbye(0), Pair(0, ""));
  EXPECT_TRUE(shards_.half_closed(0) && shards_.half_closed(1));
  shards_.Close(1, absl::OkStatus());
  EXPECT_THAT(ending(), Pair(-1, ""));
  shards_.Close(0, absl::OkStatus());
  EXPECT_THAT(ending(), Pair(0, ""));
}

TEST_F(ParameterClientTest, AShardThatDoesNotCloseHoldsUpTheEndForSecondsOnly) {
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

TEST_F(ParameterClientTest, EndBeforeJoinEndsAtOnceAndJoinsNothing) {
  client_->End({.code = 143, .message = "SIGTERM"});
  EXPECT_THAT(ending(), Pair(143, "SIGTERM"));
  Join();
  EXPECT_EQ(shards_.opened(0), 0);
}

TEST_F(ParameterClientTest, TimersOutliveTheClient) {
  BecomeMember();
  PullAll(1);
  AnswerAll(1);
  Await(1);  // a delivery is on its way
  client_.reset();
  executor_.Advance(absl::Minutes(1));  // the sanitizers watch
  EXPECT_THAT(pulled_, ElementsAre());
}

TEST_F(ParameterClientTest, PullingTheSameVersionTwiceIsABug) {
  BecomeMember();
  PullAll(1);
  EXPECT_DEATH(PullAll(1), "is being pulled");
  EXPECT_DEATH(Await(2), "check failed");
}

}  // namespace
}  // namespace ssd
