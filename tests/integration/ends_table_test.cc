// Who dies when, and how everybody else ends: 4 processes by 5 moments, each killed with SIGKILL.
//
// A moment is reached by a line in a log and held by stopping a process, never by waiting for some time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/ends_cluster.h"

namespace ssd {
namespace {

using ::ssd::testing::Process;
using ::ssd::testing::ProcessesNaming;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kShard0 = 0, kShard1 = 1, kWorker0 = 2, kWorker1 = 3;
constexpr int kKilled = 128 + SIGKILL;

enum class Moment { kBeforeTheHello, kInWarmUp, kInTheDelayStage, kWithAPullPending, kDuringEvaluation };

struct Row {
  Moment moment;
  int victim;
  std::array<int, 4> codes;  // of shard 0, shard 1, worker 0, worker 1
  const char* missing;       // whom every survivor's last line names
};

using enum Moment;
constexpr Row kTable[] = {
    {kBeforeTheHello, kShard0, {kKilled, 201, 201, 201}, "shard 0"},
    {kBeforeTheHello, kShard1, {201, kKilled, 201, 201}, "shard 1"},
    {kBeforeTheHello, kWorker0, {201, 201, kKilled, 201}, "worker 0"},
    {kBeforeTheHello, kWorker1, {201, 201, 201, kKilled}, "worker 1"},
    {kInWarmUp, kShard0, {kKilled, 200, 200, 200}, "shard 0"},
    {kInWarmUp, kShard1, {200, kKilled, 200, 200}, "shard 1"},
    {kInWarmUp, kWorker0, {200, 200, kKilled, 200}, "worker 0"},
    {kInWarmUp, kWorker1, {200, 200, 200, kKilled}, "worker 1"},
    {kInTheDelayStage, kShard0, {kKilled, 200, 200, 200}, "shard 0"},
    {kInTheDelayStage, kShard1, {200, kKilled, 200, 200}, "shard 1"},
    {kInTheDelayStage, kWorker0, {200, 200, kKilled, 200}, "worker 0"},
    {kInTheDelayStage, kWorker1, {200, 200, 200, kKilled}, "worker 1"},
    {kWithAPullPending, kShard0, {kKilled, 200, 200, 200}, "shard 0"},
    {kWithAPullPending, kShard1, {200, kKilled, 200, 200}, "shard 1"},
    {kWithAPullPending, kWorker0, {200, 200, kKilled, 200}, "worker 0"},
    {kWithAPullPending, kWorker1, {200, 200, 200, kKilled}, "worker 1"},
    {kDuringEvaluation, kShard0, {kKilled, 200, 200, 200}, "shard 0"},
    {kDuringEvaluation, kShard1, {200, kKilled, 200, 200}, "shard 1"},
    {kDuringEvaluation, kWorker0, {200, 200, kKilled, 200}, "worker 0"},
    {kDuringEvaluation, kWorker1, {200, 200, 200, kKilled}, "worker 1"},
};

// The first evaluation is of version 10; it keeps a worker busy for about half a second.
const std::vector<std::string> kLongEvaluation = {"evaluation.every=10it", "data.shapes_test=1000"};

std::vector<std::string> SettingsOf(Moment moment) {
  switch (moment) {
    case kBeforeTheHello:
      return {"cluster.rendezvous_timeout=6s"};
    case kInWarmUp:
      return {"sync.warmup=1000000it"};
    case kInTheDelayStage:
      return {};
    default:
      return kLongEvaluation;
  }
}

// One row: the four processes, brought to the moment.
class Run {
 public:
  explicit Run(const Row& row)
      : row_(row),
        // Both transports, each in two moments after the hello.
        cluster_(SettingsOf(row.moment), row.moment == kInWarmUp || row.moment == kDuringEvaluation
                                             ? EndsCluster::Transport::kTcp
                                             : EndsCluster::Transport::kUnix) {
    for (int i = 0; i < 4; ++i) {
      const Process::Start start = row.moment == kBeforeTheHello && i == row.victim
                                       ? Process::Start::kStopped
                                       : Process::Start::kRunning;
      processes_.push_back(i < kWorker0 ? &cluster_.StartShard(i, start)
                                        : &cluster_.StartWorker(i - kWorker0, start));
    }
  }

  void Check() {
    SCOPED_TRACE(
        absl::StrCat("victim ", processes_[row_.victim]->name(), ", moment ", static_cast<int>(row_.moment)));
    Reach();
    processes_[row_.victim]->Signal(SIGKILL);
    for (Process* stopped : stopped_) stopped->Continue();
    const std::string when = row_.codes[(row_.victim + 1) % 4] == 201
                                 ? " within rendezvous_timeout 6s"
                                 : " at step [0-9]+(; last heard .* before|, at 20.*:[0-9][0-9])";
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(processes_[i]->Wait(), row_.codes[i]) << processes_[i]->name();
      if (i == row_.victim) continue;
      EXPECT_THAT(
          processes_[i]->LastLine(),
          ContainsRegex(absl::StrCat("exit code=", row_.codes[i], " .*(lost|no hello from|no welcome from) ",
                                     row_.missing, "( \\(.*\\))?", when)))
          << processes_[i]->name();
    }
    EXPECT_THAT(ProcessesNaming(cluster_.path()), IsEmpty());
    if (::testing::Test::HasFailure()) ADD_FAILURE() << cluster_.Outputs();
  }

 private:
  void Reach() {
    switch (row_.moment) {
      case kBeforeTheHello:
        return;
      case kInWarmUp:
        for (int i : {kWorker0, kWorker1}) EXPECT_TRUE(processes_[i]->WaitForLine("step done step=3"));
        return;
      case kInTheDelayStage:
        for (int i : {kWorker0, kWorker1}) EXPECT_TRUE(processes_[i]->WaitForLine("step done step=7"));
        return;
      case kWithAPullPending: {
        // One worker is stopped in its evaluation, in step 10: so version 14 cannot come, which the other one
        // asks for after step 13.
        const int stopped = row_.victim == kWorker1 ? kWorker0 : kWorker1;
        StopInEvaluation(stopped);
        EXPECT_TRUE(
            processes_[stopped == kWorker0 ? kWorker1 : kWorker0]->WaitForLine("awaiting version=14"));
        return;
      }
      case kDuringEvaluation:
        for (int i : {kWorker0, kWorker1}) {
          if (row_.victim < kWorker0 || i == row_.victim) StopInEvaluation(i);
        }
        return;
    }
  }

  void StopInEvaluation(int worker) {
    EXPECT_TRUE(processes_[worker]->WaitForLine("evaluating version=10"));
    EXPECT_TRUE(processes_[worker]->Stop());
    EXPECT_THAT(processes_[worker]->output(), Not(HasSubstr("evaluated version=10")));
    stopped_.push_back(processes_[worker]);
  }

  const Row row_;
  EndsCluster cluster_;
  std::vector<Process*> processes_;
  std::vector<Process*> stopped_;
};

// The rows of one moment, all at once: they mostly wait.
void CheckAll(Moment moment) {
  std::vector<std::future<void>> rows;
  for (const Row& row : kTable) {
    if (row.moment == moment) rows.push_back(std::async(std::launch::async, [&row] { Run(row).Check(); }));
  }
  for (std::future<void>& row : rows) row.get();
}

TEST(EndsTableTest, WhoDiesBeforeItsHelloIsMissedAtTheRendezvous) { CheckAll(kBeforeTheHello); }

TEST(EndsTableTest, WhoDiesInWarmUpIsNamedByAllOthers) { CheckAll(kInWarmUp); }

TEST(EndsTableTest, WhoDiesInTheDelayStageIsNamedByAllOthers) { CheckAll(kInTheDelayStage); }

TEST(EndsTableTest, WhoDiesWithAPullPendingIsNamedByAllOthers) { CheckAll(kWithAPullPending); }

TEST(EndsTableTest, WhoDiesDuringAnEvaluationIsNamedByAllOthers) { CheckAll(kDuringEvaluation); }

}  // namespace
}  // namespace ssd
