// How ssd-run ends, with its servers and workers: real programs throughout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/integration/ends_cluster.h"
#include "tests/integration/ends_full_disk.h"

namespace ssd {
namespace {

using ::ssd::testing::Onlooker;
using ::ssd::testing::Process;
using ::ssd::testing::ProcessesNaming;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class EndsRunTest : public ::testing::Test {
 protected:
  EndsRunTest() { Append(directory_.File("experiment.yaml"), SmallExperiment()); }

  void TearDown() override {
    if (HasFailure() && run_ != nullptr) ADD_FAILURE() << run_->output();
    EXPECT_THAT(ProcessesNaming(directory_.path()), IsEmpty());
  }

  Process& Start(const std::vector<std::string>& settings, const std::vector<std::string>& wrapper = {}) {
    std::vector<std::string> arguments = wrapper;
    arguments.insert(arguments.end(), {Program("ssd-run"), directory_.File("experiment.yaml"), "--set",
                                       "output.directory=" + directory_.File("runs")});
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
    run_ = std::make_unique<Process>("ssd-run", arguments, Process::Start::kRunning, Variables());
    return *run_;
  }

  std::vector<std::string> Variables() {
    return {"OMP_WAIT_POLICY=passive", "XDG_RUNTIME_DIR=" + directory_.path(), "TERM=dumb"};
  }

  // The four processes, once training has begun.
  std::vector<pid_t> Children() {
    EXPECT_TRUE(run_->WaitForLine("step 5/")) << run_->output();
    std::vector<pid_t> children;
    for (const pid_t pid : ProcessesNaming(directory_.path())) {
      if (pid != run_->pid()) children.push_back(pid);
    }
    EXPECT_THAT(children, SizeIs(4));
    return children;
  }

  std::string InRun(const std::string& file, const std::string& number = "001") {
    return directory_.File("runs/ends/" + number + "/" + file);
  }
  nlohmann::json Summary() { return nlohmann::json::parse(ReadWhole(InRun("summary.json"))); }

  TemporaryDirectory directory_;
  std::unique_ptr<Process> run_;
};

TEST_F(EndsRunTest, CtrlCEndsAllProcesses) {
  Process& run = Start({});
  Children();
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(), 130);
  EXPECT_THAT(run.output(),
              AllOf(HasSubstr("interrupted: 4 processes asked to end"), HasSubstr("stopped by SIGINT")));
  EXPECT_EQ(Summary()["exit_code"], 130);
}

TEST_F(EndsRunTest, SigtermEndsAllProcesses) {
  Process& run = Start({});
  Children();
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 143);
  EXPECT_THAT(run.output(), HasSubstr("stopped by SIGTERM"));
  EXPECT_EQ(Summary()["exit_code"], 143);
}

TEST_F(EndsRunTest, AKilledLauncherLeavesNoProcess) {
  Process& run = Start({});
  std::vector<Onlooker> onlookers;
  for (const pid_t pid : Children()) onlookers.emplace_back(pid);
  run.Signal(SIGKILL);
  EXPECT_EQ(run.Wait(), 128 + SIGKILL);
  for (const Onlooker& onlooker : onlookers) EXPECT_TRUE(onlooker.SeesTheEnd());
}

TEST_F(EndsRunTest, AKilledWorkerIsTheReasonAndItsLastLinesAreShown) {
  Process& run = Start({});
  Children();
  const std::string zero(1, '\0');  // between two arguments
  const std::vector<pid_t> worker =
      ProcessesNaming(absl::StrCat("--worker", zero, "1", zero, "--run_dir", zero, directory_.File("runs")));
  ASSERT_THAT(worker, SizeIs(1));
  ASSERT_EQ(::kill(worker[0], SIGKILL), 0);
  EXPECT_EQ(run.Wait(), 137);
  EXPECT_THAT(run.output(),
              AllOf(HasSubstr("error: worker-1 failed: exit code 137, ended by signal 9 (Killed)"),
                    HasSubstr("the end of " + InRun("worker-1.log")), HasSubstr("joined worker=1 shards=2"),
                    HasSubstr("worker-0: exit code 200"), HasSubstr("server-0: exit code 200"),
                    HasSubstr("server-1: exit code 200")));
  EXPECT_EQ(Summary()["exit_code"], 137);
}

TEST_F(EndsRunTest, ASecondRunGetsANewFolderAndAnEvaluationTheSameAccuracy) {
  EXPECT_EQ(Start({"training.duration=8it"}).Wait(), 0);
  const std::string first = ReadWhole(InRun("summary.json"));
  EXPECT_EQ(Start({"training.duration=6it", "seed=7"}).Wait(), 0);
  EXPECT_EQ(ReadWhole(InRun("summary.json")), first);
  EXPECT_EQ(nlohmann::json::parse(ReadWhole(InRun("summary.json", "002")))["steps"], 6);

  const nlohmann::json summary = nlohmann::json::parse(first);
  EXPECT_EQ(summary["steps"], 8);
  EXPECT_EQ(summary["model"], InRun("model.safetensors"));
  Process evaluation("ssd-run", {Program("ssd-run"), "--evaluate", InRun("model.safetensors")},
                     Process::Start::kRunning, Variables());
  EXPECT_EQ(evaluation.Wait(), 0) << evaluation.output();
  EXPECT_THAT(evaluation.output(),
              HasSubstr(absl::StrFormat("accuracy %.4f (%d of %d), loss %.4f\n",
                                        summary["accuracy"].get<double>(), summary["correct"].get<int>(),
                                        summary["total"].get<int>(), summary["loss"].get<double>())));
}

TEST_F(EndsRunTest, AnUnknownKeyIsNamed) {
  EXPECT_EQ(Start({"optimizer.learning_rat=0.1"}).Wait(), 2);
  EXPECT_THAT(run_->output(), AllOf(HasSubstr("unknown key \"optimizer.learning_rat\""),
                                    HasSubstr("did you mean \"optimizer.lr\"?")));
}

TEST_F(EndsRunTest, AMissingDataSetIsNamedBeforeAnythingStarts) {
  Append(directory_.File("cifar.yaml"), absl::StrCat("data: {path: ", directory_.File("nowhere"), "}\n"));
  Process run("ssd-run", {Program("ssd-run"), directory_.File("cifar.yaml")}, Process::Start::kRunning,
              Variables());
  EXPECT_EQ(run.Wait(), 3);
  EXPECT_THAT(run.output(),
              AllOf(HasSubstr(directory_.File("nowhere")), HasSubstr("deploy/data/fetch_cifar10.sh")));
}

TEST_F(EndsRunTest, AFullDiskIsTheReasonAndTheFileIsNamed) {
  ASSERT_TRUE(std::filesystem::create_directory(directory_.File("runs")));
  const std::vector<std::string> wrapper = OnASmallDisk(directory_.File("runs"), 0);
  ASSERT_FALSE(wrapper.empty()) << kCannotMount;
  EXPECT_EQ(Start({"training.duration=8it"}, wrapper).Wait(), 6);
  EXPECT_THAT(run_->output(),
              AllOf(HasSubstr("error: worker-0 failed: exit code 6, local storage full or not writable"),
                    HasSubstr(InRun("model.safetensors.partial: cannot write: No space left on device"))));
}

TEST_F(EndsRunTest, ADiskThatIsFullFromTheStartIsNoRun) {
  ASSERT_TRUE(std::filesystem::create_directory(directory_.File("runs")));
  const std::vector<std::string> wrapper = OnASmallDisk(directory_.File("runs"), 64 << 10);
  ASSERT_FALSE(wrapper.empty()) << kCannotMount;
  EXPECT_EQ(Start({}, wrapper).Wait(), 6);
  EXPECT_THAT(run_->output(), HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace ssd
