#include "common/partition.h"

#include <algorithm>

#include "common/logging.h"

namespace ssd {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);

int64_t BlockFloats(int64_t total, int num_shards, std::optional<int64_t> block_bytes) {
  if (block_bytes.has_value()) return *block_bytes / kFloatBytes;
  const int64_t eighth_bytes = total * kFloatBytes / num_shards / 8;  // of a shard's part
  return std::clamp<int64_t>(eighth_bytes, 16 << 10, kMaxAutoBlockBytes) / kFloatBytes;
}

}  // namespace

Partition::Partition(const ModelLayout& layout, int num_shards, std::optional<int64_t> block_bytes)
    : num_shards_(num_shards) {
  CHECK_GE(num_shards, 1);
  const int64_t block_size = BlockFloats(layout.parameters.size(), num_shards, block_bytes);
  CHECK_GE(block_size, 1);
  Cut(Block::Kind::kParameters, layout.parameters.size(), block_size);
  num_parameter_blocks_ = static_cast<int64_t>(blocks_.size());
  Cut(Block::Kind::kBuffers, layout.buffers.size(), block_size);

  // The shard with the fewest bytes gets the next block. Neighbours go to different shards, so that a
  // backward pass feeds all of them at once.
  std::vector<int64_t> load(num_shards, 0);
  for (Block& block : blocks_) {
    const auto lightest = std::min_element(load.begin(), load.end());
    block.shard = ShardId(lightest - load.begin());
    *lightest += block.size;
  }
}

void Partition::Cut(Block::Kind kind, int64_t total, int64_t block_size) {
  for (int64_t offset = 0; offset < total; offset += block_size) {
    blocks_.push_back({.id = BlockId(static_cast<int64_t>(blocks_.size())),
                       .kind = kind,
                       .offset = offset,
                       .size = std::min(block_size, total - offset),
                       .shard = ShardId(0)});
  }
}

}  // namespace ssd
