// Cuts the parameters and the buffers into blocks, the unit of transport, aggregation and pipelining, and
// deals them to the shards. A pure function of its arguments: every process computes the same one.
#ifndef SSD_COMMON_PARTITION_H_
#define SSD_COMMON_PARTITION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/parameter_layout.h"
#include "common/types.h"

namespace ssd {

struct Block {
  enum class Kind { kParameters, kBuffers };

  BlockId id;
  Kind kind = Kind::kParameters;
  int64_t offset = 0;  // in floats, in the vector of its kind
  int64_t size = 0;    // in floats
  ShardId shard;

  int64_t end() const { return offset + size; }
};

// What the blocks of a large model have where no size is asked for, and the largest that is chosen so.
inline constexpr int64_t kMaxAutoBlockBytes = 1 << 20;

// A value type. Blocks of parameters come first and in the order of their offsets, then those of buffers,
// likewise; a block's id is its index. Blocks may cut tensors.
class Partition {
 public:
  // `block_bytes`: none for total bytes / (8 shards), within 16 KiB and 1 MiB, so that small models still
  // pipeline. REQUIRES: num_shards >= 1, block_bytes >= 4.
  Partition(const ModelLayout& layout, int num_shards, std::optional<int64_t> block_bytes);

  int num_shards() const { return num_shards_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  const Block& block(BlockId id) const { return blocks_[id.value()]; }
  int64_t num_parameter_blocks() const { return num_parameter_blocks_; }
  bool contains(int64_t id) const { return 0 <= id && id < static_cast<int64_t>(blocks_.size()); }

 private:
  void Cut(Block::Kind kind, int64_t total, int64_t block_size);

  int num_shards_;
  int64_t num_parameter_blocks_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace ssd

#endif  // SSD_COMMON_PARTITION_H_
