// Streams that are no member's: how many there may be and for how long, and what they may say.
#include <string>
#include <vector>

#include "server/bounded_text.h"
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

class StrangersTest : public ShardTest {
 protected:
  std::vector<FakeStream*> OpenMany(int streams) {
    std::vector<FakeStream*> opened;
    for (int i = 0; i < streams; ++i) opened.push_back(&Open());
    return opened;
  }
  // A message of the shard about a hello in which `change` has changed something.
  template <typename Change>
  std::string Refused(Change change) {
    FakeStream& stream = Open();
    v1::Hello hello = HelloOf(0);
    change(hello);
    Say(stream, hello);
    EXPECT_TRUE(stream.closed.has_value());
    return stream.closed.has_value() ? std::string(stream.closed->message()) : "";
  }
};

TEST_F(StrangersTest, BeyondTheirNumberTheOldestHasToGo) {
  const std::vector<FakeStream*> strangers = OpenMany(shard_->max_strangers());
  for (const FakeStream* stranger : strangers) EXPECT_FALSE(stranger->cancelled);
  Open();
  EXPECT_TRUE(strangers[0]->cancelled);
  EXPECT_THAT(*strangers[0]->closed,
              StatusIs(Code::kUnavailable, HasSubstr("more than 18 streams without a hello")));
  EXPECT_FALSE(strangers[1]->cancelled);
  Open();
  EXPECT_TRUE(strangers[1]->cancelled);
  EXPECT_THAT(ending(), Pair(-1, ""));
}

TEST_F(StrangersTest, MembersAreNotInTheirNumber) {
  FakeStream& alice = Join(0);
  OpenMany(10 * shard_->max_strangers());
  FakeStream& bob = Join(1);
  EXPECT_TRUE(alice.welcomed());
  EXPECT_TRUE(bob.welcomed());
  OpenMany(10 * shard_->max_strangers());
  EXPECT_FALSE(alice.closed.has_value());
  EXPECT_FALSE(bob.closed.has_value());
  TrainToTheEnd(alice, bob);
  SayGoodbye(alice, 0);
  SayGoodbye(bob, 0);
  EXPECT_THAT(ending(), Pair(0, ""));
}

TEST_F(StrangersTest, WhoSaysNoHelloHasToGo) {
  FakeStream& alice = Join(0);
  FakeStream& stranger = Open();
  executor_.Advance(Shard::kHelloTimeout - absl::Seconds(2));
  EXPECT_FALSE(stranger.cancelled);
  executor_.Advance(absl::Seconds(3));
  EXPECT_TRUE(stranger.cancelled);
  EXPECT_THAT(*stranger.closed, StatusIs(Code::kDeadlineExceeded, HasSubstr("no hello within 10s")));
  EXPECT_FALSE(alice.closed.has_value()) << "a member may wait for the others";
  EXPECT_THAT(ending(), Pair(-1, ""));
}

TEST_F(StrangersTest, WhoSaysNoHelloHasToGoAlsoWhileTheRunGoesOn) {
  FakeStream& alice = Join(0);
  FakeStream& bob = Join(1);
  FakeStream& stranger = Open();
  executor_.Advance(Shard::kHelloTimeout + absl::Seconds(1));
  EXPECT_TRUE(stranger.cancelled);
  TrainToTheEnd(alice, bob);
  EXPECT_THAT(ending(), Pair(-1, ""));
}

TEST_F(StrangersTest, AHelloAfterTheExpulsionIsNotHeard) {
  FakeStream& stranger = Open();
  executor_.Advance(Shard::kHelloTimeout + absl::Seconds(1));
  ASSERT_TRUE(stranger.cancelled);
  Say(stranger, HelloOf(0));
  EXPECT_EQ(stranger.session->state(), Session::State::kClosed);
  FakeStream& alice = Join(0);
  EXPECT_FALSE(alice.closed.has_value()) << "nobody has taken the place";
}

TEST_F(StrangersTest, DuplicateHellosDoNotTouchTheRun) {
  FakeStream& alice = Join(0, /*incarnation=*/9);
  FakeStream& bob = Join(1, /*incarnation=*/9);
  for (int i = 0; i < 100; ++i) {
    FakeStream& duplicate = Join(1, /*incarnation=*/8);
    EXPECT_THAT(duplicate.goodbye(), Pair(202, HasSubstr("a newer incarnation of worker 1 is a member")));
    duplicate.session->OnStreamEnd(absl::OkStatus());
  }
  EXPECT_FALSE(bob.closed.has_value());
  TrainToTheEnd(alice, bob);
  SayGoodbye(alice, 0);
  SayGoodbye(bob, 0);
  EXPECT_THAT(ending(), Pair(0, ""));
}

TEST_F(StrangersTest, AHellosTextIsCutInMessages) {
  const std::string large(1 << 20, 'x');
  const std::string value =
      Refused([&](v1::Hello& hello) { hello.mutable_fields(0)->set_value(large + "\n"); });
  EXPECT_THAT(value, AllOf(HasSubstr("optimizer.lr: worker 0 has xxx"), HasSubstr("xxx..., shard 0 has 1")));
  EXPECT_LT(value.size(), 1000u);
  const std::string name = Refused([&](v1::Hello& hello) { hello.add_fields()->set_name(large); });
  EXPECT_THAT(name, HasSubstr("xxx...: shard 0 does not know this option"));
  EXPECT_LT(name.size(), 1000u);
  const std::string tensor = Refused([&](v1::Hello& hello) {
    for (int i : {0, 1}) hello.add_parameters()->set_name(large);
  });
  EXPECT_THAT(tensor, HasSubstr("two tensors named xxx"));
  EXPECT_LT(tensor.size(), 1000u);
}

TEST_F(StrangersTest, AHelloOfTooManyDimensionsIsRefused) {
  EXPECT_THAT(Refused([](v1::Hello& hello) {
                for (int i = 0; i < 1000; ++i) hello.mutable_parameters(0)->add_shape(1);
              }),
              HasSubstr("tensor conv has 1001 dimensions"));
}

TEST(BoundedTextTest, ControlCharactersAndLengthAreKeptOutOfOurLines) {
  EXPECT_EQ(BoundedText("0.1"), "0.1");
  EXPECT_EQ(BoundedText("a\nb\x1b[31m\x7f"), "a?b?[31m?");
  EXPECT_EQ(BoundedText("12345", 5), "12345");
  EXPECT_EQ(BoundedText("123456", 5), "12345...");
  EXPECT_EQ(BoundedText("1234\u00e9", 5), "1234...") << "not within a character";
  EXPECT_THAT(BoundedText("\u00e9"), Not(HasSubstr("?")));
}

}  // namespace
}  // namespace ssd
