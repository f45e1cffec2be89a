#include "common/partition.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace ssd {
namespace {

ModelLayout Layout(int64_t parameters, int64_t buffers = 0) {
  ModelLayout layout;
  layout.parameters.Add("weights", {parameters});
  if (buffers > 0) layout.buffers.Add("running_mean", {buffers});
  return layout;
}

std::vector<int64_t> LoadOf(const Partition& partition) {
  std::vector<int64_t> load(partition.num_shards(), 0);
  for (const Block& block : partition.blocks()) load[block.shard.value()] += block.size;
  return load;
}

void ExpectCovered(const Partition& partition, Block::Kind kind, int64_t total) {
  int64_t next = 0;
  for (const Block& block : partition.blocks()) {
    if (block.kind != kind) continue;
    EXPECT_EQ(block.offset, next) << "block " << block.id;
    EXPECT_GT(block.size, 0);
    next = block.end();
  }
  EXPECT_EQ(next, total);
}

TEST(PartitionTest, EveryFloatIsInExactlyOneBlock) {
  for (int64_t total : {1, 2, 7, 8, 9, 1000}) {
    for (int shards : {1, 2, 3, 5}) {
      for (int64_t bytes : {4, 7, 8, 32, 4096}) {
        const Partition partition(Layout(total, 13), shards, bytes);
        ExpectCovered(partition, Block::Kind::kParameters, total);
        ExpectCovered(partition, Block::Kind::kBuffers, 13);
      }
    }
  }
}

TEST(PartitionTest, IdsAreIndicesAndParametersComeFirst) {
  const Partition partition(Layout(10, 5), 2, /*block_bytes=*/16);
  ASSERT_EQ(partition.blocks().size(), 3u + 2u);
  EXPECT_EQ(partition.num_parameter_blocks(), 3);
  for (size_t i = 0; i < partition.blocks().size(); ++i) {
    EXPECT_EQ(partition.blocks()[i].id, BlockId(static_cast<int64_t>(i)));
    EXPECT_EQ(&partition.block(BlockId(static_cast<int64_t>(i))), &partition.blocks()[i]);
    EXPECT_EQ(partition.blocks()[i].kind, i < 3 ? Block::Kind::kParameters : Block::Kind::kBuffers);
  }
  EXPECT_EQ(partition.blocks()[2].size, 2) << "the rest";
  EXPECT_TRUE(partition.contains(4));
  EXPECT_FALSE(partition.contains(5));
  EXPECT_FALSE(partition.contains(-1));
}

TEST(PartitionTest, OneFloatBlocks) {
  const Partition partition(Layout(5), 2, /*block_bytes=*/4);
  ASSERT_EQ(partition.blocks().size(), 5u);
  for (const Block& block : partition.blocks()) EXPECT_EQ(block.size, 1);
}

TEST(PartitionTest, ShardsDifferByNoMoreThanABlock) {
  for (int shards : {2, 3, 7}) {
    const Partition partition(Layout(100'003, 999), shards, /*block_bytes=*/4096);
    const std::vector<int64_t> load = LoadOf(partition);
    const auto [low, high] = std::minmax_element(load.begin(), load.end());
    EXPECT_LE(*high - *low, 1024);
    EXPECT_EQ(std::accumulate(load.begin(), load.end(), int64_t{0}), 100'003 + 999);
  }
}

TEST(PartitionTest, NeighboursLieOnDifferentShards) {
  const Partition partition(Layout(64), 2, /*block_bytes=*/16);
  for (size_t i = 1; i < partition.blocks().size(); ++i) {
    EXPECT_NE(partition.blocks()[i].shard, partition.blocks()[i - 1].shard);
  }
}

TEST(PartitionTest, MoreShardsThanBlocksLeavesSomeWithoutAny) {
  const Partition partition(Layout(2), 4, /*block_bytes=*/4);
  EXPECT_THAT(LoadOf(partition), ::testing::ElementsAre(1, 1, 0, 0));
}

TEST(PartitionTest, AutomaticBlocksAreAnEighthOfAShardWithinLimits) {
  const auto block_bytes = [](int64_t bytes, int shards) {
    return Partition(Layout(bytes / 4), shards, std::nullopt).blocks()[0].size * 4;
  };
  EXPECT_EQ(block_bytes(1 << 20, 1), 128 << 10) << "total / 8";
  EXPECT_EQ(block_bytes(1 << 20, 2), 64 << 10) << "total / 16";
  EXPECT_EQ(block_bytes(64 << 10, 1), 16 << 10) << "not less than 16 KiB";
  EXPECT_EQ(block_bytes(100 << 20, 1), 1 << 20) << "not more than 1 MiB";
  EXPECT_EQ(block_bytes(400, 3), 400) << "smaller than the least block";
}

TEST(PartitionTest, IsAPureFunction) {
  const Partition a(Layout(12345, 67), 3, std::nullopt), b(Layout(12345, 67), 3, std::nullopt);
  for (size_t i = 0; i < a.blocks().size(); ++i) EXPECT_EQ(a.blocks()[i].shard, b.blocks()[i].shard);
}

TEST(ParameterLayoutTest, FindsTheTensorOfAFloat) {
  ParameterLayout layout;
  EXPECT_EQ(layout.Add("first", {2, 3}), 0);
  EXPECT_EQ(layout.Add("none", {0}), 1);
  EXPECT_EQ(layout.Add("scalar", {}), 2);
  EXPECT_EQ(layout.size(), 7);
  EXPECT_EQ(layout.TensorAt(0).name, "first");
  EXPECT_EQ(layout.TensorAt(5).name, "first");
  EXPECT_EQ(layout.TensorAt(6).name, "scalar") << "not the empty one at the same offset";
}

}  // namespace
}  // namespace ssd
