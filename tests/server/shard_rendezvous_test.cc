// How the workers come together: hellos that agree, those that do not, and those that never come.
#include "tests/server/session_fixture.h"

namespace ssd {
namespace {

using ::testing::AllOf;
using testing::FakeStream;
using ::testing::HasSubstr;
using testing::HelloOf;
using ::testing::Not;
using ::testing::Pair;
using testing::ShardTest;
using testing::StatusIs;

using Code = absl::StatusCode;

class RendezvousTest : public ShardTest {
 protected:
  // Says a hello that disagrees; returns the goodbye's message.
  std::string Refused(const v1::Hello& hello) {
    FakeStream& stream = Open();
    Say(stream, hello);
    EXPECT_EQ(stream.session->state(), Session::State::kClosed);
    EXPECT_TRUE(stream.closed.has_value() && stream.closed->code() == Code::kFailedPrecondition);
    EXPECT_EQ(stream.goodbye().first, kExitUsage);
    EXPECT_THAT(ending(), Pair(-1, "")) << "a stranger's mistake is its own";
    return stream.goodbye().second;
  }
  // Says a hello that cannot be right; returns how the stream was closed.
  absl::Status Malformed(const v1::Hello& hello) {
    FakeStream& stream = Open();
    Say(stream, hello);
    EXPECT_EQ(shard_->parameters(), nullptr) << "nothing was made of it";
    EXPECT_THAT(ending(), Pair(-1, ""));
    return stream.closed.value_or(absl::OkStatus());
  }
};

TEST_F(RendezvousTest, AllAreWelcomedWhenTheLastHelloIsThere) {
  FakeStream& bob = Join(1);
  EXPECT_EQ(starts_, 0);
  FakeStream& alice = Join(0);
  EXPECT_EQ(starts_, 1);
  for (const FakeStream* stream : {&alice, &bob}) {
    ASSERT_TRUE(stream->welcomed());
    EXPECT_EQ(stream->sent[0].header.generation(), 1u);
  }
  EXPECT_TRUE(shard_->running());
}

TEST_F(RendezvousTest, TimeoutNamesTheMissingWorkers) {
  Make({.num_workers = 4});
  FakeStream& bob = Join(1);
  executor_.Advance(absl::Seconds(29));
  EXPECT_THAT(ending(), Pair(-1, ""));
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(ending(),
              Pair(201, "no hello from worker 0, worker 2, worker 3 within rendezvous_timeout 30s"));
  EXPECT_THAT(bob.goodbye(), Pair(201, HasSubstr("worker 0, worker 2, worker 3")));
}

TEST_F(RendezvousTest, AStrangersBadFrameLeavesTheOthersAlone) {
  FakeStream& alice = Join(0);
  FakeStream& stranger = Open();
  Give(stranger, Header());
  stranger.session->OnStreamEnd(absl::InvalidArgumentError("bytes that are no frame"));
  EXPECT_THAT(ending(), Pair(-1, ""));
  Join(1);
  EXPECT_TRUE(alice.welcomed());
}

TEST_F(RendezvousTest, AMemberLostBeforeTheStartEndsTheRun) {
  Join(0).session->OnStreamEnd(absl::UnavailableError("connection reset"));
  EXPECT_THAT(ending(), Pair(200, AllOf(HasSubstr("lost worker 0 before the first step"),
                                        HasSubstr("connection reset"))));
}

TEST_F(RendezvousTest, AnotherValueNamesTheFieldAndBothValues) {
  v1::Hello hello = HelloOf(1);
  hello.mutable_fields(1)->set_value("8");
  EXPECT_EQ(Refused(hello), "sync.k: worker 1 has 8, shard 0 has 4");
}

TEST_F(RendezvousTest, OptionsThatOneSideDoesNotKnowAreNamed) {
  v1::Hello hello = HelloOf(1);
  hello.mutable_fields()->RemoveLast();
  EXPECT_EQ(Refused(hello), "sync.k: worker 1 does not know this option");
  hello = HelloOf(1);
  hello.add_fields()->set_name("sync.future");
  EXPECT_EQ(Refused(hello), "sync.future: shard 0 does not know this option of worker 1");
}

TEST_F(RendezvousTest, ProtocolWorkerAndShardMustFit) {
  v1::Hello hello = HelloOf(1);
  hello.set_protocol(2);
  EXPECT_THAT(Refused(hello), HasSubstr("protocol: worker 1 speaks version 2, shard 0 version 1"));
  EXPECT_THAT(Refused(HelloOf(2)), HasSubstr("there is no worker 2, the configuration has 2 workers"));
  EXPECT_THAT(Refused(HelloOf(4'000'000'000)), HasSubstr("there is no worker 4000000000"));
  hello = HelloOf(1);
  hello.set_shard(3);
  EXPECT_THAT(Refused(hello), HasSubstr("expects shard 3 at the address of shard 0"));
}

TEST_F(RendezvousTest, AnotherModelOrDataSetThanTheFirstWorkersIsNamed) {
  Join(0);
  v1::Hello hello = HelloOf(1);
  hello.set_samples_per_epoch(51);
  EXPECT_EQ(Refused(hello), "number of training samples (51 and 50): worker 1 has another one than worker 0");
  hello = HelloOf(1);
  hello.mutable_parameters(0)->set_shape(0, 3);
  EXPECT_EQ(Refused(hello), "model: worker 1 has another one than worker 0");
  hello = HelloOf(1);
  hello.mutable_buffers(0)->set_name("bn2");
  EXPECT_EQ(Refused(hello), "model: worker 1 has another one than worker 0");
  hello = HelloOf(1);
  hello.mutable_parameters(0)->add_shape(1);
  EXPECT_EQ(Refused(hello), "model: worker 1 has another one than worker 0");
  EXPECT_TRUE(Join(1).welcomed()) << "and the right one is still welcome";
}

TEST_F(RendezvousTest, ARefusedWorkerMayTryAgain) {
  v1::Hello hello = HelloOf(1);
  hello.mutable_fields(0)->set_value("2");
  EXPECT_THAT(Refused(hello), HasSubstr("optimizer.lr"));
  Join(0);
  EXPECT_TRUE(Join(1).welcomed());
}

TEST_F(RendezvousTest, LayoutsThatCannotBeAreMalformed) {
  v1::Hello hello = HelloOf(0);
  hello.mutable_parameters(0)->set_shape(0, 0);
  EXPECT_THAT(Malformed(hello), StatusIs(Code::kInvalidArgument, HasSubstr("conv has no sane shape")));
  hello.mutable_parameters(0)->set_shape(0, ~uint64_t{0});
  EXPECT_THAT(Malformed(hello), StatusIs(Code::kInvalidArgument, HasSubstr("conv has no sane shape")));
  for (int i = 0; i < 4; ++i) hello.mutable_parameters(0)->add_shape(uint64_t{1} << 16);
  hello.mutable_parameters(0)->set_shape(0, uint64_t{1} << 16);
  EXPECT_THAT(Malformed(hello), StatusIs(Code::kInvalidArgument, HasSubstr("no sane shape")))
      << "2^80 overflows";
  hello = HelloOf(0);
  hello.clear_parameters();
  EXPECT_THAT(Malformed(hello), StatusIs(Code::kInvalidArgument, HasSubstr("without parameters")));
  hello = HelloOf(0);
  *hello.add_parameters() = hello.parameters(0);
  EXPECT_THAT(Malformed(hello), StatusIs(Code::kInvalidArgument, HasSubstr("two tensors named conv")));
}

TEST_F(RendezvousTest, ModelsOfMoreThanMemoryAreMalformed) {
  v1::Hello hello = HelloOf(0);
  hello.mutable_parameters(0)->set_shape(0, uint64_t{1} << 40);
  EXPECT_THAT(Malformed(hello), StatusIs(Code::kInvalidArgument, HasSubstr("blocks"))) << "blocks of 8 bytes";
  Make({.block_bytes = std::nullopt});
  EXPECT_THAT(Malformed(hello), StatusIs(Code::kInvalidArgument, HasSubstr("blocks")));
  hello = HelloOf(0);
  for (int i = 0; i < 10'000; ++i) {
    hello.add_buffers()->set_name(std::to_string(i));
    hello.mutable_buffers(i + 1)->add_shape(1);
  }
  EXPECT_THAT(Malformed(hello), StatusIs(Code::kInvalidArgument, HasSubstr("10001 tensors")));
}

TEST_F(RendezvousTest, EpochsHaveSaneNumbersOfSamples) {
  for (uint64_t samples : {uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 41}) {
    v1::Hello hello = HelloOf(0);
    hello.set_samples_per_epoch(samples);
    EXPECT_THAT(Malformed(hello), StatusIs(Code::kInvalidArgument, HasSubstr("samples in an epoch")));
  }
}

TEST_F(RendezvousTest, ANewerIncarnationFencesTheOlderAndEndsTheRunForAllOthers) {
  Make({.num_workers = 3});
  FakeStream &older = Join(0, /*incarnation=*/5), &bob = Join(1), &newer = Join(0, /*incarnation=*/6);
  EXPECT_THAT(older.goodbye(), Pair(202, HasSubstr("a newer incarnation of worker 0")));
  EXPECT_THAT(newer.goodbye(), Pair(200, HasSubstr("worker 0 was replaced")));
  EXPECT_THAT(bob.goodbye(), Pair(200, HasSubstr("worker 0 was replaced")));
  EXPECT_THAT(ending(), Pair(200, HasSubstr("worker 0 was replaced")));
}

TEST_F(RendezvousTest, AnOlderIncarnationThatComesLateIsFencedAlone) {
  Make({.num_workers = 3});
  FakeStream &member = Join(0, /*incarnation=*/5), &late = Join(0, /*incarnation=*/4);
  EXPECT_THAT(late.goodbye(), Pair(202, HasSubstr("worker 0")));
  EXPECT_TRUE(late.closed.has_value());
  EXPECT_FALSE(member.closed.has_value());
  EXPECT_THAT(ending(), Pair(-1, ""));
}

TEST_F(RendezvousTest, FencingAlsoEndsARunThatIsUnderWay) {
  FakeStream &alice = Join(0), &bob = Join(1);
  GiveInitial(alice);
  FakeStream& newer = Join(1, /*incarnation=*/2);
  EXPECT_THAT(bob.goodbye(), Pair(202, HasSubstr("worker 1")));
  EXPECT_THAT(alice.goodbye(), Pair(200, HasSubstr("at step 0")));
  EXPECT_THAT(newer.goodbye(), Pair(200, HasSubstr("at step 0")));
}

TEST_F(RendezvousTest, WhoComesAfterTheEndIsToldWhyItEnded) {
  Join(0);
  executor_.Advance(absl::Seconds(31));
  FakeStream& late = Join(1);
  EXPECT_THAT(late.goodbye(),
              Pair(200, AllOf(HasSubstr("the run has ended"), HasSubstr("no hello from worker 1"))));
  EXPECT_TRUE(late.closed.has_value());
}

TEST_F(RendezvousTest, StreamsThatHaveNotSaidHelloAreToldToo) {
  Join(0);
  executor_.Advance(absl::Seconds(29));
  FakeStream& silent = Open();
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(silent.goodbye(), Pair(201, Not("")));
}

}  // namespace
}  // namespace ssd
