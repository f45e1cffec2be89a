// What peers do that are not ours, or are broken: a stranger's bytes concern nobody, a member's end the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/experiment.h"
#include "common/logging.h"
#include "common/partition.h"
#include "models/registry.h"
#include "tests/integration/ends_cluster.h"
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

std::string Encode(const WorkerFrame& frame) { return EncodeBeforePayload(frame.header, 0); }

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

  v1::Hello Hello(int shard) {
    const std::vector<std::string> files = {cluster_.config_path()};
    const auto loaded = LoadExperiment(files, cluster_.settings(), Disk::Real());
    CHECK(loaded.ok()) << loaded.status().ToString();
    v1::Hello hello;
    hello.set_protocol(1);
    hello.set_worker(1);
    hello.set_incarnation(1);
    hello.set_shard(static_cast<uint32_t>(shard));
    hello.set_samples_per_epoch(static_cast<uint64_t>(loaded->proto.data().shapes_train()));
    const auto describe = [](const ParameterLayout& layout, auto* tensors) {
      for (const TensorSpec& spec : layout.tensors()) {
        auto* tensor = tensors->Add();
        tensor->set_name(spec.name);
        for (const int64_t dimension : spec.shape) tensor->add_shape(static_cast<uint64_t>(dimension));
      }
    };
    describe(layout_.parameters, hello.mutable_parameters());
    describe(layout_.buffers, hello.mutable_buffers());
    for (const auto& [name, value] : AgreedFields(loaded->proto)) {
      v1::Hello::Field* field = hello.add_fields();
      field->set_name(name);
      field->set_value(value);
    }
    return hello;
  }

  // Joins both shards as worker 1, and takes the weights of version 0, so that training has begun.
  void Join() {
    for (int shard = 0; shard < 2; ++shard) {
      streams_.push_back(std::make_unique<RawStream>(cluster_.addresses()[shard]));
      WorkerFrame frame;
      *frame.header.mutable_hello() = Hello(shard);
      ASSERT_TRUE(streams_[shard]->Send(frame));
    }
    for (const auto& stream : streams_) {
      const std::optional<ServerFrame> frame = stream->Read();
      ASSERT_TRUE(frame.has_value() && frame->header.has_welcome());
    }
    for (const Block& block : partition_.blocks()) {
      if (block.kind != Block::Kind::kParameters) continue;
      WorkerFrame pull = Frame();
      pull.header.mutable_pull()->set_exact(true);
      pull.header.mutable_pull()->add_blocks(static_cast<uint32_t>(block.id.value()));
      ASSERT_TRUE(streams_[block.shard.value()]->Send(pull));
      const std::optional<ServerFrame> frame = streams_[block.shard.value()]->Read();
      ASSERT_TRUE(frame.has_value() && frame->header.has_block());
    }
  }

  static WorkerFrame Frame() {
    WorkerFrame frame;
    frame.header.set_generation(1);
    return frame;
  }

  // The first push of `block`, all of whose values are `value`.
  WorkerFrame Push(const Block& block, float value) {
    WorkerFrame frame = Frame();
    frame.header.mutable_push()->set_block(static_cast<uint32_t>(block.id.value()));
    const std::vector<float> values(block.size, value);
    frame.payload = Buffer::Copy(values);
    return frame;
  }

  const Block& FirstBlockOf(int shard) const {
    for (const Block& block : partition_.blocks()) {
      if (block.shard == ShardId(shard)) return block;
    }
    return partition_.block(BlockId(0));
  }

  // All others end with `code`, and say `why`.
  void ExpectTheOthersEnd(int code, const std::string& why) {
    // Once worker 0 has passed on what it was told; then no shard has to wait for this test's streams.
    others_.back()->Wait();
    streams_.clear();
    for (Process* process : others_) {
      EXPECT_EQ(process->Wait(), code) << process->name();
      EXPECT_THAT(process->LastLine(), AllOf(HasSubstr(absl::StrCat("exit code=", code)), HasSubstr(why)))
          << process->name();
    }
  }

  void ExpectThatAMembersBytesEndTheRun(const std::string& bytes, const std::string& why) {
    StartTheOthers();
    ASSERT_NO_FATAL_FAILURE(Join());
    streams_[0]->SendBytes(bytes);
    EXPECT_THAT(streams_[0]->ReadToTheEnd(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
    ExpectTheOthersEnd(200, "lost worker 1 at step 0; last heard ");
    ExpectTheOthersEnd(200, why);
  }

  EndsCluster cluster_;
  const ModelLayout layout_ = LayoutOf("resnet8", {.height = 32, .width = 32, .channels = 3}, 10).value();
  const Partition partition_{layout_, 2, std::nullopt};
  std::vector<Process*> others_;
  std::vector<std::unique_ptr<RawStream>> streams_;
};

TEST_F(EndsHostileTest, AMembersGarbageIsALostPeer) {
  ExpectThatAMembersBytesEndTheRun(kGarbage, "frame: got tag 127 where the header's 10 stands");
}

TEST_F(EndsHostileTest, AHeaderThatDeclares2To62BytesIsALostPeer) {
  ExpectThatAMembersBytesEndTheRun(DeclaringTwoToThe62("", '\x0a'),
                                   "header of 4611686018427387904 bytes declared");
}

TEST_F(EndsHostileTest, APayloadThatDeclares2To62BytesIsALostPeer) {
  const std::string before = Encode(Push(FirstBlockOf(0), 0));
  ExpectThatAMembersBytesEndTheRun(DeclaringTwoToThe62(before, '\x12'),
                                   "payload of 4611686018427387904 bytes declared");
}

TEST_F(EndsHostileTest, AMessageBeyondTheLargestFrameIsALostPeer) {
  StartTheOthers();
  ASSERT_NO_FATAL_FAILURE(Join());
  streams_[0]->SendBytes(std::string(kMaxFrameBytes + 1, '\x0a'));
  EXPECT_FALSE(streams_[0]->ReadToTheEnd().ok());
  ExpectTheOthersEnd(200, "lost worker 1 at step 0; last heard ");
}

TEST_F(EndsHostileTest, APushForAnotherShardsBlockIsALostPeer) {
  StartTheOthers();
  ASSERT_NO_FATAL_FAILURE(Join());
  const Block& block = FirstBlockOf(1);
  ASSERT_TRUE(streams_[0]->Send(Push(block, 0)));
  const std::string why = absl::StrCat("block ", block.id.value(), " belongs to shard 1, this is shard 0");
  EXPECT_THAT(streams_[0]->ReadToTheEnd(), StatusIs(absl::StatusCode::kNotFound, HasSubstr(why)));
  ExpectTheOthersEnd(200, "lost worker 1 at step 0; last heard ");
  ExpectTheOthersEnd(200, why);
}

TEST_F(EndsHostileTest, AGradientThatIsNotANumberEndsEverybodyWithItsTensorsName) {
  StartTheOthers();
  ASSERT_NO_FATAL_FAILURE(Join());
  const Block& block = FirstBlockOf(1);
  ASSERT_TRUE(streams_[1]->Send(Push(block, std::numeric_limits<float>::quiet_NaN())));
  const std::string why =
      absl::StrCat("a value that is not finite (nan) in the gradient of ",
                   layout_.parameters.TensorAt(block.offset).name, " from worker 1 at step 0");
  // The culprit is told as well.
  std::optional<ServerFrame> last;
  while (std::optional<ServerFrame> frame = streams_[1]->Read()) last = std::move(frame);
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
  WorkerFrame hello;
  *hello.header.mutable_hello() = Hello(0);
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
  WorkerFrame pull = Frame();
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
