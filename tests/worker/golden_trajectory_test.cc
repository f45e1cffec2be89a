// The real objects follow the specification's trajectories, step by step, on one thread.
#include <algorithm>
#include <map>
#include <vector>

#include "tests/testing/cluster.h"
#include "tests/testing/golden.h"

namespace ssd {
namespace {

using testing::AllGolden;
using testing::Cluster;
using testing::EmptyBatches;
using testing::Golden;
using testing::ManualExecutor;
using testing::QuadraticModel;
using testing::RelativeError;

constexpr double kTolerance = 1e-5;

// What a run did: for each block the weights of each version that the shards had, and each worker's local
// weights.
struct Trajectory {
  std::vector<std::map<int64_t, double>> global;        // [coordinate][version]
  std::vector<std::vector<std::vector<double>>> local;  // [step][worker][coordinate]

  // The newest version of a coordinate at or below `version`.
  double Global(int coordinate, int64_t version) const {
    return std::prev(global[coordinate].upper_bound(version))->second;
  }
};

Trajectory RunAll(const Golden& golden, std::shared_ptr<const SyncSchedule> schedule, int num_shards) {
  ManualExecutor executor;
  std::vector<std::unique_ptr<QuadraticModel>> models;
  EmptyBatches batches(executor);
  std::vector<Cluster::Replica> replicas;
  for (int i = 0; i < golden.workers; ++i) {
    models.push_back(std::make_unique<QuadraticModel>(golden, i));
    replicas.push_back({.model = models.back().get(), .batches = &batches});
  }
  Cluster::Options options{.num_shards = num_shards,
                           .block_bytes = sizeof(float),
                           .optimizer = golden.optimizer,
                           .schedule = std::move(schedule),
                           .learning_rate = std::make_shared<LearningRate>(golden.learning_rate)};
  if (golden.policy != "ssgd") options.update = golden.update;
  Cluster cluster(options, executor, replicas);

  Trajectory trajectory;
  trajectory.global.resize(golden.size);
  trajectory.local.resize(golden.weights.size(), std::vector<std::vector<double>>(golden.workers));
  for (int i = 0; i < golden.workers; ++i) {
    cluster.trainer(i).set_step_done([&, i](Step step) {
      const std::span<const float> x = models[i]->parameters();
      trajectory.local[step.value()][i].assign(x.begin(), x.end());
    });
  }
  cluster.Start();
  do {
    for (int i = 0; i < num_shards; ++i) {
      const ParameterShard* shard = cluster.shard(i).parameters();
      if (shard == nullptr) continue;
      for (const Block& block : shard->partition().blocks()) {
        if (block.shard != ShardId(i)) continue;
        if (const auto newest = shard->Newest(block.id); newest.has_value()) {
          trajectory.global[block.offset].emplace(newest->version.value(), newest->values.values()[0]);
        }
      }
    }
  } while (executor.RunOne());
  for (const auto& ending : cluster.worker_endings) {
    EXPECT_TRUE(ending.has_value() && ending->code == 0)
        << (ending.has_value() ? ending->message : "still running");
  }
  for (const auto& ending : cluster.shard_endings) EXPECT_TRUE(ending.has_value() && ending->code == 0);
  return trajectory;
}

using GoldenCase = std::tuple<std::string, int>;

class GoldenTrajectoryTest : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenTrajectoryTest, GlobalAndLocalWeightsFollowTheSpecification) {
  const auto& [name, num_shards] = GetParam();
  Golden golden = AllGolden().at(name);
  if (name == "ssd_glu_k4_pace_matched") golden.update.alpha = std::nullopt;  // auto must find 5
  const Trajectory run = RunAll(golden, std::make_shared<SyncSchedule>(golden.schedule), num_shards);

  for (size_t t = 0; t < golden.weights.size(); ++t) {
    std::vector<double> global;
    for (int i = 0; i < golden.size; ++i) global.push_back(run.Global(i, static_cast<int64_t>(t) + 1));
    ASSERT_LE(RelativeError(global, golden.weights[t]), kTolerance) << "global weights after step " << t;
    for (int i = 0; i < golden.workers; ++i) {
      ASSERT_EQ(run.local[t][i].size(), golden.local[t][i].size())
          << "worker " << i << " did not do step " << t;
      ASSERT_LE(RelativeError(run.local[t][i], golden.local[t][i]), kTolerance)
          << "worker " << i << " after step " << t;
    }
  }
}

std::vector<GoldenCase> Cases() {
  std::vector<GoldenCase> cases;
  for (const auto& [name, golden] : AllGolden()) {
    if (golden.offset != 0 || !(golden.policy == "ssgd" || golden.policy == "ssd")) continue;
    for (int shards : {1, 3}) cases.emplace_back(name, shards);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTrajectoryTest, ::testing::ValuesIn(Cases()), [](const auto& info) {
  return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param)) + "_shards";
});

// The periods of block b end b mod 4 steps earlier.
class StaggeredSchedule : public SyncSchedule {
 public:
  using SyncSchedule::SyncSchedule;

 protected:
  int64_t PhaseOf(BlockId block) const override { return block.value() % 4; }
};

TEST(StaggeredTrajectoryTest, EachBlockFollowsTheTrajectoryOfItsPhase) {
  const Golden& golden = AllGolden().at("ssd_glu_k4");
  for (int num_shards : {1, 3}) {
    const Trajectory run = RunAll(golden, std::make_shared<StaggeredSchedule>(golden.schedule), num_shards);
    for (int b = 0; b < golden.size; ++b) {
      const Golden& phase =
          b % 4 == 0 ? golden : AllGolden().at("ssd_glu_k4_offset_" + std::to_string(b % 4));
      for (size_t t = 0; t < golden.weights.size(); ++t) {
        // One coordinate can pass through 0, so the measure is the size of the whole vector.
        double norm = 0;
        for (double w : phase.weights[t]) norm += w * w;
        ASSERT_NEAR(run.Global(b, static_cast<int64_t>(t) + 1), phase.weights[t][b],
                    kTolerance * std::sqrt(norm))
            << "block " << b << " after step " << t;
        for (int i = 0; i < golden.workers; ++i) {
          ASSERT_NEAR(run.local[t][i][b], phase.local[t][i][b], kTolerance * std::sqrt(norm))
              << "block " << b << " of worker " << i << " after step " << t;
        }
      }
    }
  }
}

TEST(GoldenTrajectoryCasesTest, CoversEveryConfigurationOfThisKind) {
  EXPECT_EQ(Cases().size(), 2 * 27) << "ssgd, and ssd with every local update";
}

}  // namespace
}  // namespace ssd
