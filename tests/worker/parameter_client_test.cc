// How a worker joins, sends, pulls and waits.
#include "tests/worker/parameter_client_fixture.h"

namespace ssd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::ParameterClientTest;

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
