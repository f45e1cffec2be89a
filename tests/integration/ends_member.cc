#include "tests/integration/ends_member.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "common/config/experiment.h"
#include "common/config/resnet_plan.h"
#include "common/logging.h"
#include "models/registry.h"

namespace ssd {
namespace {

v1::Experiment Load(const EndsCluster& cluster) {
  const std::vector<std::string> files = {cluster.config_path()};
  const auto loaded = LoadExperiment(files, cluster.settings(), Disk::Real());
  CHECK(loaded.ok()) << loaded.status().ToString();
  return loaded->proto;
}

}  // namespace

std::string Encode(const WorkerFrame& frame) { return EncodeBeforePayload(frame.header, 0); }

EndsMember::EndsMember(const EndsCluster& cluster)
    : cluster_(cluster),
      experiment_(Load(cluster)),
      layout_(OutlineOf(MakeResNetSpec(experiment_.model()), {.height = 32, .width = 32, .channels = 3}, 10)
                  .value()
                  .layout),
      partition_(layout_, /*num_shards=*/2, /*block_bytes=*/std::nullopt) {}

WorkerFrame EndsMember::Hello(int shard) const {
  WorkerFrame frame;
  v1::Hello& hello = *frame.header.mutable_hello();
  hello.set_protocol(kProtocol);
  hello.set_worker(1);
  hello.set_incarnation(1);
  hello.set_shard(static_cast<uint32_t>(shard));
  hello.set_samples_per_epoch(static_cast<uint64_t>(experiment_.data().shapes_train()));
  const auto describe = [](const ParameterLayout& layout, auto* tensors) {
    for (const TensorSpec& spec : layout.tensors()) {
      auto* tensor = tensors->Add();
      tensor->set_name(spec.name);
      for (const int64_t dimension : spec.shape) tensor->add_shape(static_cast<uint64_t>(dimension));
    }
  };
  describe(layout_.parameters, hello.mutable_parameters());
  describe(layout_.buffers, hello.mutable_buffers());
  for (const auto& [name, value] : AgreedFields(experiment_)) {
    v1::Hello::Field* field = hello.add_fields();
    field->set_name(name);
    field->set_value(value);
  }
  return frame;
}

WorkerFrame EndsMember::Frame() {
  WorkerFrame frame;
  frame.header.set_generation(1);
  return frame;
}

WorkerFrame EndsMember::Push(const Block& block, float value, Step step) {
  WorkerFrame frame = Frame();
  frame.header.mutable_push()->set_block(static_cast<uint32_t>(block.id.value()));
  frame.header.mutable_push()->set_step(static_cast<uint64_t>(step.value()));
  const std::vector<float> values(block.size, value);
  frame.payload = Buffer::Copy(values);
  return frame;
}

WorkerFrame EndsMember::Pull(int shard, Version version) const {
  WorkerFrame frame = Frame();
  frame.header.mutable_pull()->set_version(static_cast<uint64_t>(version.value()));
  frame.header.mutable_pull()->set_exact(true);
  for (const Block& block : partition_.blocks()) {
    if (block.shard == ShardId(shard))
      frame.header.mutable_pull()->add_blocks(static_cast<uint32_t>(block.id.value()));
  }
  return frame;
}

void EndsMember::SayHello(int shard) {
  streams_[shard] = std::make_unique<RawStream>(cluster_.addresses()[shard]);
  ASSERT_TRUE(streams_[shard]->Send(Hello(shard)));
}

void EndsMember::Join() {
  for (int shard : {0, 1}) ASSERT_NO_FATAL_FAILURE(SayHello(shard));
  for (const auto& stream : streams_) {
    const std::optional<ServerFrame> frame = stream->Read();
    ASSERT_TRUE(frame.has_value() && frame->header.has_welcome());
  }
  for (int shard : {0, 1}) {
    ASSERT_TRUE(streams_[shard]->Send(Pull(shard, Version(0))));
    ASSERT_TRUE(ReadBlocks(shard));
  }
}

void EndsMember::Train(Step step) {
  ASSERT_TRUE(Skip(step));
  for (int shard : {0, 1}) {
    ASSERT_TRUE(streams_[shard]->Send(Pull(shard, Version(step.value() + 1))));
    ASSERT_TRUE(ReadBlocks(shard));
  }
}

bool EndsMember::Skip(Step step) {
  // Statistics come first.
  for (const Block::Kind kind : {Block::Kind::kBuffers, Block::Kind::kParameters}) {
    for (const Block& block : partition_.blocks()) {
      if (block.kind != kind) continue;
      WorkerFrame frame = Frame();
      frame.header.mutable_push()->set_block(static_cast<uint32_t>(block.id.value()));
      frame.header.mutable_push()->set_step(static_cast<uint64_t>(step.value()));
      frame.header.mutable_push()->set_skipped(true);
      if (!streams_[block.shard.value()]->Send(frame)) return false;
    }
  }
  return true;
}

bool EndsMember::ReadBlocks(int shard) {
  for (const Block& block : partition_.blocks()) {
    if (block.shard != ShardId(shard)) continue;
    const std::optional<ServerFrame> frame = streams_[shard]->Read();
    if (!frame.has_value() || !frame->header.has_block()) return false;
  }
  return true;
}

void EndsMember::Leave() {
  for (auto& stream : streams_) stream.reset();
}

const Block& EndsMember::FirstBlockOf(int shard) const {
  for (const Block& block : partition_.blocks()) {
    if (block.shard == ShardId(shard)) return block;
  }
  return partition_.block(BlockId(0));
}

int64_t EndsMember::BytesOf(int shard) const {
  int64_t floats = 0;
  for (const Block& block : partition_.blocks()) {
    if (block.shard == ShardId(shard)) floats += block.size;
  }
  return floats * static_cast<int64_t>(sizeof(float));
}

}  // namespace ssd
