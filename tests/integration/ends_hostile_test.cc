// What peers do that are not ours, or are broken: a stranger's bytes concern nobody, a member's end the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/ends_cluster.h"
#include "tests/integration/ends_member.h"
#include "tests/integration/ends_raw_stream.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::Process;
using ::ssd::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const std::string kGarbage = "\x7f no frame at all";

// A varint of 2^62 behind `before`: what a peer says that follows.
std::string DeclaringTwoToThe62(const std::string& before, char tag) {
  return absl::StrCat(before, std::string(1, tag), std::string(8, '\x80'), "\x40");
}

// Two shards and worker 0 are real; worker 1 is this test, which says what a worker says until it is
// welcomed.
class EndsHostileTest : public ::testing::Test {
 protected:
  EndsHostileTest() : cluster_({}) {}

  void TearDown() override {
    if (HasFailure()) ADD_FAILURE() << cluster_.Outputs();
  }

  void StartTheOthers() {
    others_ = {&cluster_.StartShard(0), &cluster_.StartShard(1), &cluster_.StartWorker(0)};
  }

  // All others end with `code`, and say `why`.
  void ExpectTheOthersEnd(int code, const std::string& why) {
    // Once worker 0 has passed on what it was told; then no shard has to wait for this test's streams.
    others_.back()->Wait();
    member_.Leave();
    for (Process* process : others_) {
      EXPECT_EQ(process->Wait(), code) << process->name();
      EXPECT_THAT(process->LastLine(), AllOf(HasSubstr(absl::StrCat("exit code=", code)), HasSubstr(why)))
          << process->name();
    }
  }

  void ExpectThatAMembersBytesEndTheRun(const std::string& bytes, const std::string& why) {
    StartTheOthers();
    ASSERT_NO_FATAL_FAILURE(member_.Join());
    member_.stream(0).SendBytes(bytes);
    EXPECT_THAT(member_.stream(0).ReadToTheEnd(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
    ExpectTheOthersEnd(200, "lost worker 1 at step 0; last heard ");
    ExpectTheOthersEnd(200, why);
  }

  EndsCluster cluster_;
  EndsMember member_{cluster_};
  std::vector<Process*> others_;
};

TEST_F(EndsHostileTest, AMembersGarbageIsALostPeer) {
  ExpectThatAMembersBytesEndTheRun(kGarbage, "frame: got tag 127 where the header's 10 stands");
}

TEST_F(EndsHostileTest, AHeaderThatDeclares2To62BytesIsALostPeer) {
  ExpectThatAMembersBytesEndTheRun(DeclaringTwoToThe62("", '\x0a'),
                                   "header of 4611686018427387904 bytes declared");
}

TEST_F(EndsHostileTest, APayloadThatDeclares2To62BytesIsALostPeer) {
  const std::string before = Encode(EndsMember::Push(member_.FirstBlockOf(0), 0));
  ExpectThatAMembersBytesEndTheRun(DeclaringTwoToThe62(before, '\x12'),
                                   "payload of 4611686018427387904 bytes declared");
}

TEST_F(EndsHostileTest, AMessageBeyondTheLargestFrameIsALostPeer) {
  StartTheOthers();
  ASSERT_NO_FATAL_FAILURE(member_.Join());
  member_.stream(0).SendBytes(std::string(kMaxFrameBytes + 1, '\x0a'));
  EXPECT_FALSE(member_.stream(0).ReadToTheEnd().ok());
  ExpectTheOthersEnd(200, "lost worker 1 at step 0; last heard ");
}

TEST_F(EndsHostileTest, APushForAnotherShardsBlockIsALostPeer) {
  StartTheOthers();
  ASSERT_NO_FATAL_FAILURE(member_.Join());
  const Block& block = member_.FirstBlockOf(1);
  ASSERT_TRUE(member_.stream(0).Send(EndsMember::Push(block, 0)));
  const std::string why = absl::StrCat("block ", block.id.value(), " belongs to shard 1, this is shard 0");
  EXPECT_THAT(member_.stream(0).ReadToTheEnd(), StatusIs(absl::StatusCode::kNotFound, HasSubstr(why)));
  ExpectTheOthersEnd(200, "lost worker 1 at step 0; last heard ");
  ExpectTheOthersEnd(200, why);
}

TEST_F(EndsHostileTest, AGradientThatIsNotANumberEndsEverybodyWithItsTensorsName) {
  StartTheOthers();
  ASSERT_NO_FATAL_FAILURE(member_.Join());
  const Block& block = member_.FirstBlockOf(1);
  ASSERT_TRUE(member_.stream(1).Send(EndsMember::Push(block, std::numeric_limits<float>::quiet_NaN())));
  const std::string why =
      absl::StrCat("a value that is not finite (nan) in the gradient of ",
                   member_.layout().parameters.TensorAt(block.offset).name, " from worker 1 at step 0");
  // The culprit is told as well.
  std::optional<ServerFrame> last;
  while (std::optional<ServerFrame> frame = member_.stream(1).Read()) last = std::move(frame);
  ASSERT_TRUE(last.has_value() && last->header.has_goodbye());
  EXPECT_EQ(last->header.goodbye().code(), 4);
  EXPECT_THAT(last->header.goodbye().message(), HasSubstr(why));
  ExpectTheOthersEnd(4, why);
}

TEST_F(EndsHostileTest, AStrangersBytesConcernNobody) {
  EndsCluster cluster({"training.duration=60it"});
  Process& shard = cluster.StartShard(0);
  Process& other_shard = cluster.StartShard(1);
  const auto send = [&](const std::string& bytes) {
    RawStream stranger(cluster.addresses()[0]);
    stranger.SendBytes(bytes);
    return stranger.ReadToTheEnd();
  };
  // Before the first worker comes; and a hello that this shard does not agree with.
  EXPECT_THAT(send(kGarbage), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("frame: got tag 127")));
  WorkerFrame hello = EndsMember(cluster).Hello(0);
  hello.header.mutable_hello()->set_protocol(99);
  EXPECT_THAT(send(Encode(hello)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("worker 1 speaks version 99")));

  Process& worker = cluster.StartWorker(0);
  Process& other_worker = cluster.StartWorker(1);
  // In the middle of the run, which cannot end without this worker.
  EXPECT_TRUE(other_worker.WaitForLine("step done step=3"));
  EXPECT_TRUE(other_worker.Stop());
  EXPECT_THAT(send(DeclaringTwoToThe62("", '\x0a')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4611686018427387904")));
  WorkerFrame pull = EndsMember::Frame();
  pull.header.mutable_pull()->add_blocks(0);
  EXPECT_THAT(send(Encode(pull)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the first frame must be a hello")));
  other_worker.Continue();
  for (Process* process : {&shard, &other_shard, &worker, &other_worker}) {
    EXPECT_EQ(process->Wait(), 0) << process->name() << '\n' << process->output();
  }
}

}  // namespace
}  // namespace ssd
