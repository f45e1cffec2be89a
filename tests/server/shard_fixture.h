// A ParameterShard of a small model, for tests.
#ifndef SSD_TESTS_SERVER_SHARD_FIXTURE_H_
#define SSD_TESTS_SERVER_SHARD_FIXTURE_H_

#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "server/parameter_shard.h"

namespace ssd::testing {

inline constexpr WorkerId kAlice(0), kBob(1);
inline constexpr BlockId kFirst(0), kSecond(1);

inline Buffer Floats(std::vector<float> values) { return Buffer::Copy(values); }

// Parameters "conv" (2 floats: block 0) and "fc" (2 floats: block 1), running statistics "bn" (2 floats:
// block 2); momentum 0, learning rate 1, so that an update subtracts the mean gradient.
inline ModelLayout SmallLayout() {
  ModelLayout layout;
  layout.parameters.Add("conv", {2});
  layout.parameters.Add("fc", {2});
  layout.buffers.Add("bn", {2});
  return layout;
}

struct ShardSetup {
  int num_workers = 2;
  bool deterministic = false;
  OptimizerOptions optimizer = {.momentum = 0};
  SyncScheduleOptions schedule = {.policy = SyncScheduleOptions::Policy::kSsgd, .total_steps = 100};
  int num_shards = 1;
};

class SmallShard {
 public:
  explicit SmallShard(const ShardSetup& setup = {})
      : shard({.shard = ShardId(0),
               .num_workers = setup.num_workers,
               .deterministic = setup.deterministic,
               .optimizer = setup.optimizer},
              SmallLayout(), Partition(SmallLayout(), setup.num_shards, /*block_bytes=*/8),
              std::make_shared<SyncSchedule>(setup.schedule),
              std::make_shared<LearningRate>(LearningRateOptions{.base = 1, .total_steps = 100}), &pool) {}

  // Gives version 0 of all blocks.
  void Begin() {
    for (const Block& block : shard.partition().blocks()) {
      if (block.shard != ShardId(0)) continue;
      EXPECT_OK(shard.SetInitial(block.id, Floats({1, 2})));
    }
  }

  absl::Status Push(WorkerId worker, BlockId block, int64_t step, std::vector<float> gradient) {
    return shard.Push(worker, block, Step(step), Floats(std::move(gradient)));
  }

  // What was pulled: "v3: -2 5", or "parked", or "gone", in the order of the pulls.
  std::string Pull(BlockId block, int64_t version, bool exact = true) {
    auto answer = std::make_shared<std::string>("parked");
    answers.push_back(answer);
    const absl::Status status =
        shard.Pull(block, Version(version), exact, [answer](const ParameterShard::Snapshot& snapshot) {
          std::ostringstream out;
          out << "v" << snapshot.version << ":";
          for (float value : snapshot.values.values()) out << ' ' << value;
          *answer = *answer == "parked" ? out.str() : "answered twice";
        });
    if (!status.ok()) *answer = status.ToString();
    return *answer;
  }
  std::string answer(size_t pull) const { return *answers[pull]; }

  BufferPool pool;
  ParameterShard shard;
  std::vector<std::shared_ptr<std::string>> answers;
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_SERVER_SHARD_FIXTURE_H_
