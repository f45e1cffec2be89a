// How ssd-server and ssd-worker end where something is wrong: the exit code and the last line of the log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/ends_cluster.h"
#include "tests/integration/ends_full_disk.h"

namespace ssd {
namespace {

using ::ssd::testing::Process;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

MATCHER_P2(EndsWith, code, line,
           absl::StrCat("ends with ", code, " and a last line that ",
                        ::testing::DescribeMatcher<std::string>(line))) {
  const std::optional<int> ended = arg->Wait();
  *result_listener << arg->name() << " ended with " << ended.value_or(-1) << "; its output:\n"
                   << arg->output();
  return ended == code && ::testing::ExplainMatchResult(line, arg->LastLine(), result_listener);
}

TEST(EndsBinariesTest, AnUnknownKeyIsNamedWithTheOneThatWasMeant) {
  EndsCluster cluster({"optimizer.learning_rat=0.1"});
  const auto named = AllOf(HasSubstr("exit code=2 "), HasSubstr("unknown key \"optimizer.learning_rat\""),
                           HasSubstr("did you mean \"optimizer.lr\"?"));
  EXPECT_THAT(&cluster.StartShard(0), EndsWith(2, named));
  EXPECT_THAT(&cluster.StartWorker(0), EndsWith(2, named));
}

TEST(EndsBinariesTest, AMissingDataSetIsNamedWithTheCommandThatFetchesIt) {
  TemporaryDirectory directory;
  Append(directory.File("cifar.yaml"),
         absl::StrCat("data: {path: ", directory.File("nowhere"),
                      "}\ncluster: {addresses: [\"unix:/tmp/0\", \"unix:/tmp/1\"]}\n"));
  Process worker("worker 0",
                 {Program("ssd-worker"), "--config", directory.File("cifar.yaml"), "--worker", "0"});
  EXPECT_THAT(&worker, EndsWith(3, AllOf(HasSubstr("exit code=3 "), HasSubstr(directory.File("nowhere")),
                                         HasSubstr("deploy/data/fetch_cifar10.sh"))));
}

TEST(EndsBinariesTest, AShardOrWorkerThatTheConfigurationDoesNotHaveIsRefused) {
  EndsCluster cluster({});
  EXPECT_THAT(&cluster.StartShard(2),
              EndsWith(2, HasSubstr("exit code=2 --shards: there is no shard 2; the configuration has 2")));
  EXPECT_THAT(&cluster.StartWorker(2),
              EndsWith(2, HasSubstr("exit code=2 --worker: there is no worker 2; the configuration has 2")));
}

void ExpectThatAnAddressInUseIsRefused(EndsCluster::Transport transport) {
  EndsCluster cluster({"training.duration=5it"}, transport);
  Process& first = cluster.StartShard(0);
  ASSERT_TRUE(first.WaitForLine("listening shard=0"));
  EXPECT_THAT(&cluster.StartShard(0), EndsWith(2, AllOf(HasSubstr("exit code=2 " + cluster.addresses()[0]),
                                                        HasSubstr("the address is in use"))));
  // The first one has lost nothing by it.
  cluster.StartShard(1);
  cluster.StartWorker(0);
  cluster.StartWorker(1);
  EXPECT_THAT(&first, EndsWith(0, HasSubstr("done exit code=0")));
}

TEST(EndsBinariesTest, ATcpPortInUseIsRefused) {
  ExpectThatAnAddressInUseIsRefused(EndsCluster::Transport::kTcp);
}

TEST(EndsBinariesTest, AUnixSocketInUseIsRefused) {
  ExpectThatAnAddressInUseIsRefused(EndsCluster::Transport::kUnix);
}

TEST(EndsBinariesTest, ASocketLeftByAKilledServerIsTakenOver) {
  EndsCluster cluster({"training.duration=5it"});
  Process& killed = cluster.StartShard(0);
  ASSERT_TRUE(killed.WaitForLine("listening shard=0"));
  killed.Signal(SIGKILL);
  ASSERT_EQ(killed.Wait(), 128 + SIGKILL);
  Process& next = cluster.StartShard(0);
  cluster.StartShard(1);
  cluster.StartWorker(0);
  cluster.StartWorker(1);
  EXPECT_THAT(&next, EndsWith(0, HasSubstr("done exit code=0")));
}

TEST(EndsBinariesTest, TheOlderOfTwoWorkersOfOneNumberIsFenced) {
  EndsCluster cluster({});
  Process& shard = cluster.StartShard(0);
  Process& other_shard = cluster.StartShard(1);
  Process& worker = cluster.StartWorker(0);
  Process& older = cluster.StartWorker(1);
  ASSERT_TRUE(older.WaitForLine("step done step=3")) << cluster.Outputs();
  Process& newer = cluster.StartWorker(1);
  EXPECT_THAT(&older, EndsWith(202, HasSubstr("a newer incarnation of worker 1 has joined")));
  for (Process* process : {&shard, &other_shard, &worker, &newer})
    EXPECT_THAT(process, EndsWith(200, ContainsRegex("exit code=200 .*worker 1 ")));
}

TEST(EndsBinariesTest, ADifferentConfigurationIsNamedWithBothValues) {
  EndsCluster cluster({"cluster.rendezvous_timeout=6s"});
  Process& shard = cluster.StartShard(0);
  Process& other_shard = cluster.StartShard(1);
  Process& worker = cluster.StartWorker(0);
  Process& odd = cluster.StartOddWorker(1, {"optimizer.momentum=0.5"});
  EXPECT_THAT(
      &odd,
      EndsWith(2, ContainsRegex("exit code=2 .*optimizer.momentum: worker 1 has 0.5, shard [01] has 0.9")));
  for (Process* process : {&shard, &other_shard, &worker})
    EXPECT_THAT(process, EndsWith(201, HasSubstr("no hello from worker 1 within rendezvous_timeout 6s")));
}

struct Signalled {
  const char* victim;
  int signal;
  int code;
  const char* said;
};

class EndsSignalTest : public ::testing::TestWithParam<Signalled> {};

TEST_P(EndsSignalTest, EndsTheProcessWithItsCodeAndIsALostPeerForTheOthers) {
  EndsCluster cluster({});
  std::vector<Process*> processes = {&cluster.StartShard(0), &cluster.StartShard(1), &cluster.StartWorker(0),
                                     &cluster.StartWorker(1)};
  ASSERT_TRUE(processes[2]->WaitForLine("step done step=3")) << cluster.Outputs();
  for (Process* process : processes) {
    if (process->name() == GetParam().victim) process->Signal(GetParam().signal);
  }
  for (Process* process : processes) {
    if (process->name() == GetParam().victim) {
      EXPECT_THAT(process, EndsWith(GetParam().code, HasSubstr(absl::StrCat("exit code=", GetParam().code,
                                                                            " ", GetParam().said))));
    } else {
      EXPECT_THAT(process, EndsWith(200, ContainsRegex(absl::StrCat("lost ", GetParam().victim,
                                                                    ".* at step [0-9]+.* exit code ",
                                                                    GetParam().code, ": "))));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(SigtermAndSigint, EndsSignalTest,
                         ::testing::Values(Signalled{"worker 1", SIGTERM, 143, "asked to stop (SIGTERM)"},
                                           Signalled{"worker 0", SIGINT, 130, "interrupted (SIGINT)"},
                                           Signalled{"shard 0", SIGTERM, 143, "asked to stop (SIGTERM)"},
                                           Signalled{"shard 1", SIGINT, 130, "interrupted (SIGINT)"}));

void ExpectThatAFrozenProcessIsLost(const std::string& victim) {
  EndsCluster cluster({"cluster.peer_timeout=4s"});
  std::vector<Process*> processes = {&cluster.StartShard(0), &cluster.StartShard(1), &cluster.StartWorker(0),
                                     &cluster.StartWorker(1)};
  EXPECT_TRUE(processes[2]->WaitForLine("step done step=3")) << cluster.Outputs();
  const auto frozen = std::find_if(processes.begin(), processes.end(),
                                   [&victim](const Process* process) { return process->name() == victim; });
  EXPECT_TRUE((*frozen)->Stop());
  for (Process* process : processes) {
    if (process == *frozen) continue;
    EXPECT_THAT(
        process,
        EndsWith(200, ContainsRegex(absl::StrCat("exit code=200 .*lost ", victim, ".* at step [0-9]+"))));
  }
  // Once it goes on it finds that it was left behind.
  (*frozen)->Continue();
  EXPECT_THAT(*frozen, EndsWith(200, HasSubstr("exit code=200 ")));
}

// A process that stands still keeps its connections; only its silence gives it away.
TEST(EndsBinariesTest, AFrozenProcessIsALostPeer) {
  const auto shard = std::async(std::launch::async, ExpectThatAFrozenProcessIsLost, "shard 1");
  ExpectThatAFrozenProcessIsLost("worker 1");
}

TEST(EndsBinariesTest, AWorkerThatWaitsForTheShardsEndsWhenItIsAskedTo) {
  EndsCluster cluster({});
  Process& worker = cluster.StartWorker(0);
  ASSERT_TRUE(worker.WaitForLine("hello to shard 1"));
  worker.Signal(SIGTERM);
  EXPECT_THAT(&worker, EndsWith(143, HasSubstr("exit code=143 asked to stop (SIGTERM)")));
}

TEST(EndsBinariesTest, AFullDiskEndsTheServerThatWritesTheMetrics) {
  EndsCluster cluster({});
  const std::vector<std::string> wrapper = OnASmallDisk(cluster.run_dir(), 64 << 10);
  ASSERT_FALSE(wrapper.empty()) << kCannotMount;
  Process& shard = cluster.StartShard(0, Process::Start::kRunning, wrapper);
  Process& other_shard = cluster.StartShard(1);
  Process& worker = cluster.StartWorker(0);
  Process& other_worker = cluster.StartWorker(1);
  const std::string why = cluster.run_dir() + "/metrics.jsonl: cannot write: No space left on device";
  EXPECT_THAT(&shard, EndsWith(6, HasSubstr("exit code=6 " + why)));
  for (Process* process : {&other_shard, &worker, &other_worker})
    EXPECT_THAT(process, EndsWith(200, AllOf(ContainsRegex("lost shard 0 .*exit code 6: "), HasSubstr(why))));
}

TEST(EndsBinariesTest, ALimitOnFileSizesEndsTheWorkerThatWritesTheModel) {
  EndsCluster cluster({"training.duration=8it"});
  Process& shard = cluster.StartShard(0);
  Process& other_shard = cluster.StartShard(1);
  Process& worker = cluster.StartWorker(0, Process::Start::kRunning, WithSmallFilesOnly());
  Process& other_worker = cluster.StartWorker(1);
  EXPECT_THAT(&worker, EndsWith(6, HasSubstr("exit code=6 " + cluster.run_dir() +
                                             "/model.safetensors.partial: cannot write: File too large")));
  for (Process* process : {&shard, &other_shard})
    EXPECT_THAT(process, EndsWith(200, ContainsRegex("lost worker 0 at step 8; .*model.safetensors")));
  // Its work may have been done before.
  EXPECT_THAT(other_worker.Wait(), AnyOf(0, 200));
}

}  // namespace
}  // namespace ssd
