// Runs over real gRPC follow the specification's trajectories, on unix sockets and on TCP, whatever strangers
// do meanwhile; and what becomes of a run whose worker disconnects.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/run/temporary_directory.h"
#include "tests/testing/golden.h"
#include "tests/testing/grpc_cluster.h"

namespace ssd {
namespace {

using testing::AllGolden;
using ::testing::Combine;
using testing::Golden;
using testing::GrpcCluster;
using ::testing::HasSubstr;
using testing::QuadraticModel;
using testing::RelativeError;
using testing::RunOn;
using ::testing::Values;

constexpr double kTolerance = 1e-5;
constexpr int kShards = 2;
constexpr absl::Duration kDeadline = absl::Seconds(120);  // far beyond what a loaded machine needs

enum class Transport { kUnix, kTcp };

std::vector<std::string> Addresses(Transport transport, const TemporaryDirectory& directory) {
  std::vector<std::string> addresses;
  for (int i = 0; i < kShards; ++i) {
    addresses.push_back(transport == Transport::kTcp
                            ? "127.0.0.1:0"
                            : absl::StrCat("unix:", directory.File(absl::StrCat("shard-", i))));
  }
  return addresses;
}

// The models of a configuration, one a worker.
struct Models {
  explicit Models(const Golden& golden) {
    for (int i = 0; i < golden.workers; ++i) {
      owned.push_back(std::make_unique<QuadraticModel>(golden, i));
      all.push_back(owned.back().get());
    }
  }
  std::vector<std::unique_ptr<QuadraticModel>> owned;
  std::vector<Model*> all;
};

GrpcCluster::Options OptionsOf(const Golden& golden) {
  return {.block_bytes = sizeof(float),
          .optimizer = golden.optimizer,
          .schedule = std::make_shared<SyncSchedule>(golden.schedule),
          .learning_rate = std::make_shared<LearningRate>(golden.learning_rate),
          .update = golden.update};
}

// What each worker saw. Each worker's part is written by its own thread.
struct Trajectory {
  explicit Trajectory(const Golden& golden)
      : local(golden.workers, std::vector<std::vector<double>>(golden.weights.size())),
        pulled(golden.workers) {}

  std::vector<std::vector<std::vector<double>>> local;         // [worker][step][coordinate]
  std::vector<std::map<int64_t, std::vector<double>>> pulled;  // [worker][version][coordinate]
};

void Record(const Golden& golden, const Models& models, Trajectory& trajectory,
            GrpcCluster::Options& options) {
  options.step_done = [&](int worker, Step step) {
    const std::span<const float> x = models.owned[worker]->parameters();
    trajectory.local[worker][step.value()].assign(x.begin(), x.end());
  };
  options.received = [&](int worker, const v1::Block& block, std::span<const float> values) {
    std::vector<double>& weights = trajectory.pulled[worker][static_cast<int64_t>(block.version())];
    weights.resize(golden.size, std::nan(""));
    weights[block.block()] = values[0];  // a block is one coordinate
  };
}

void ExpectGolden(const Golden& golden, const Trajectory& trajectory) {
  const SyncSchedule schedule(golden.schedule);
  for (int i = 0; i < golden.workers; ++i) {
    for (size_t t = 0; t < golden.weights.size(); ++t) {
      ASSERT_EQ(trajectory.local[i][t].size(), golden.local[t][i].size())
          << "worker " << i << " did not do step " << t;
      ASSERT_LE(RelativeError(trajectory.local[i][t], golden.local[t][i]), kTolerance)
          << "worker " << i << " after step " << t;
      const int64_t version = static_cast<int64_t>(t) + 1;
      const auto pulled = trajectory.pulled[i].find(version);
      ASSERT_EQ(pulled != trajectory.pulled[i].end(), schedule.IsPulled(Version(version), BlockId(0)))
          << "worker " << i << ", version " << version;
      if (pulled == trajectory.pulled[i].end()) continue;
      ASSERT_LE(RelativeError(pulled->second, golden.weights[t]), kTolerance)
          << "version " << version << " as worker " << i << " got it";
    }
  }
}

void ExpectAllDone(const GrpcCluster& cluster, int workers) {
  for (int i = 0; i < workers; ++i) {
    EXPECT_EQ(cluster.worker_ending(i).code, kExitDone) << cluster.worker_ending(i).message;
  }
  for (int i = 0; i < kShards; ++i) {
    EXPECT_EQ(cluster.shard_ending(i).code, kExitDone) << cluster.shard_ending(i).message;
  }
}

class GrpcGoldenTest : public ::testing::TestWithParam<std::tuple<std::string, Transport>> {};

TEST_P(GrpcGoldenTest, EveryWorkerFollowsTheSpecification) {
  const auto& [name, transport] = GetParam();
  const Golden& golden = AllGolden().at(name);
  const TemporaryDirectory directory;
  const Models models(golden);
  Trajectory trajectory(golden);
  GrpcCluster::Options options = OptionsOf(golden);
  options.addresses = Addresses(transport, directory);
  Record(golden, models, trajectory, options);
  {
    GrpcCluster cluster(options, models.all);
    cluster.Start();
    ASSERT_TRUE(cluster.WaitForEnd(kDeadline));
    ExpectAllDone(cluster, golden.workers);
  }
  ExpectGolden(golden, trajectory);
}

INSTANTIATE_TEST_SUITE_P(All, GrpcGoldenTest,
                         Combine(Values("ssd_glu_k4", "ssd_glu_k5_push_every_period",
                                        "ssd_momentum_k4_blocking"),
                                 Values(Transport::kUnix, Transport::kTcp)),
                         [](const auto& info) {
                           return std::get<0>(info.param) +
                                  (std::get<1>(info.param) == Transport::kUnix ? "_unix" : "_tcp");
                         });

// Remembers how a client's run ends.
class EndingWaiter {
 public:
  void Set(const Ending& ending) {
    MutexLock lock(&mutex_);
    ending_ = ending;
    ended_.NotifyAll();
  }
  std::optional<Ending> Wait() {
    const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(kDeadline);
    MutexLock lock(&mutex_);
    while (!ending_.has_value() && ended_.WaitUntil(&mutex_, deadline)) {
    }
    return ending_;
  }

 private:
  Mutex mutex_;
  CondVar ended_;
  std::optional<Ending> ending_ ABSL_GUARDED_BY(mutex_);
};

// Hears nothing.
class DeafListener : public ShardChannel::Listener {
 public:
  void OnFrame(ShardId, ServerFrame) override {}
  void OnClosed(ShardId, const absl::Status&) override {}
};

// Connects to a shard again and again, and goes at once or a moment after it has sent what no stranger may.
class Stranger {
 public:
  explicit Stranger(std::vector<std::string> addresses)
      : channels_(std::move(addresses), executor_, absl::Seconds(60)) {}
  ~Stranger() {
    RunOn(executor_, [this] { last_.reset(); });
    EXPECT_TRUE(channels_.WaitUntilDone(kDeadline));
  }

  void Call() {
    executor_.Post([this] {
      last_ = channels_.Open(ShardId(calls_ % kShards), listener_);  // the one before goes
      WorkerFrame frame;
      frame.header.mutable_pull()->add_blocks(0);
      if (++calls_ % 3 != 0) last_->Send(std::move(frame));
      if (calls_ % 4 == 0) last_.reset();
    });
  }

 private:
  DeafListener listener_;
  GrpcShardChannels channels_;
  std::unique_ptr<ShardChannel> last_;
  int calls_ = 0;
  ThreadExecutor executor_{"stranger"};
};

TEST(GrpcStrangersTest, StrangersThatComeAndGoDisturbNobody) {
  const Golden& golden = AllGolden().at("ssd_glu_k4");
  const TemporaryDirectory directory;
  const Models models(golden);
  Trajectory trajectory(golden);
  GrpcCluster::Options options = OptionsOf(golden);
  options.addresses = Addresses(Transport::kUnix, directory);
  Record(golden, models, trajectory, options);
  Stranger* stranger = nullptr;
  options.step_done = [&, record = options.step_done](int worker, Step step) {
    record(worker, step);
    stranger->Call();
  };
  {
    GrpcCluster cluster(options, models.all);
    Stranger visitor(cluster.addresses());
    stranger = &visitor;
    cluster.Start();
    ASSERT_TRUE(cluster.WaitForEnd(kDeadline));
    ExpectAllDone(cluster, golden.workers);
  }
  ExpectGolden(golden, trajectory);
}

TEST(GrpcDisconnectTest, ServerOutlivesAWorkerThatDisconnectsAndTellsTheOthers) {
  const Golden& golden = AllGolden().at("ssd_glu_k4");
  const TemporaryDirectory directory;
  const Models models(golden);
  GrpcCluster::Options options = OptionsOf(golden);
  options.addresses = Addresses(Transport::kTcp, directory);
  SyncScheduleOptions endless = golden.schedule;
  endless.total_steps = 1'000'000;
  options.schedule = std::make_shared<SyncSchedule>(endless);
  EndingWaiter reached;  // worker 2 is in the middle of the run
  options.step_done = [&](int worker, Step step) {
    if (worker == 2 && step == Step(20)) reached.Set({});
  };
  GrpcCluster cluster(options, models.all);
  cluster.Start();
  ASSERT_TRUE(reached.Wait().has_value());
  cluster.KillWorker(2);
  ASSERT_TRUE(cluster.WaitForEnd(kDeadline));
  for (int i : {0, 1, 3}) {
    EXPECT_EQ(cluster.worker_ending(i).code, kExitPeerLost);
    EXPECT_THAT(cluster.worker_ending(i).message, HasSubstr("lost worker 2"));
  }
  for (int i = 0; i < kShards; ++i) EXPECT_EQ(cluster.shard_ending(i).code, kExitPeerLost);

  // Both servers still answer.
  ThreadExecutor executor("latecomer");
  GrpcShardChannels channels(cluster.addresses(), executor, absl::Seconds(60));
  EndingWaiter turned_away;
  auto client = std::make_unique<ParameterClient>(
      ParameterClient::Options{
          .worker = WorkerId(2), .incarnation = Incarnation(2), .shard_names = cluster.addresses()},
      Partition(models.all[0]->layout(), kShards, sizeof(float)), channels, executor, Clock::Real(),
      [&](const Ending& ending) { turned_away.Set(ending); });
  RunOn(executor, [&] { client->Join({}, [] {}); });
  const std::optional<Ending> ending = turned_away.Wait();
  ASSERT_TRUE(ending.has_value());
  EXPECT_EQ(ending->code, kExitPeerLost);
  EXPECT_THAT(ending->message, HasSubstr("the run has ended"));
  RunOn(executor, [&] { client.reset(); });
  EXPECT_TRUE(channels.WaitUntilDone(kDeadline));
}

// What is alive at one time is bounded by the schedule and the queues; what passes grows with the steps.
TEST(GrpcAllocationTest, SteadyStateAllocatesNothing) {
  Golden golden = AllGolden().at("ssd_glu_k4");
  golden.schedule.total_steps = 400;
  const TemporaryDirectory directory;
  const Models models(golden);
  GrpcCluster::Options options = OptionsOf(golden);
  options.addresses = Addresses(Transport::kUnix, directory);
  GrpcCluster cluster(options, models.all);
  cluster.Start();
  ASSERT_TRUE(cluster.WaitForEnd(kDeadline));
  ExpectAllDone(cluster, golden.workers);

  const int64_t open_steps = options.schedule->max_open_steps();
  const int64_t shard_blocks = golden.size / kShards;
  const int64_t pulls = 1 + 8 + (400 - 8) / 4;
  for (int i = 0; i < golden.workers; ++i) {
    // The weights pulled last, and those that replace them; and all came through this pool.
    EXPECT_LE(cluster.worker_allocations(i), 2 * golden.size) << "of " << pulls * golden.size << " blocks";
  }
  constexpr int64_t kInbox = 17;  // frames of a stream that wait, and the one being read
  for (int i = 0; i < kShards; ++i) {
    EXPECT_LE(cluster.server_allocations(i), shard_blocks * (1 + open_steps) + golden.workers * kInbox)
        << "of " << 400 * golden.workers * shard_blocks << " gradients";
    // Weights and velocity: the newest, the next, two pinned; sums; and weights on their way to each worker.
    EXPECT_LE(cluster.shard_allocations(i), shard_blocks * (2 * 4 + open_steps + 2 * golden.workers))
        << "of " << 3 * 400 * shard_blocks;
  }
}

}  // namespace
}  // namespace ssd
