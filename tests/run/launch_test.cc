// The program itself, beside servers and workers that are small scripts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/time/clock.h"
#include "tests/run/temporary_directory.h"

namespace ssd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Sets d to the run's folder and i to the worker's or shard's number.
constexpr char kReadFlags[] =
    "#!/bin/sh\n"
    "echo \"$(basename $0) $*\" >&2\n"
    "while [ $# -gt 0 ]; do\n"
    "  case $1 in --run_dir) d=$2 ;; --worker|--shards) i=$2 ;; esac\n"
    "  shift\n"
    "done\n";

constexpr char kServer[] =
    "echo listening shard=$i >&2\n"
    "[ $i = 0 ] || exit 0\n"
    "echo '{\"split\":\"start\",\"steps\":1250,\"steps_per_epoch\":312.5,\"global_batch\":64}' >> "
    "$d/metrics.jsonl\n"
    "echo '{\"split\":\"train\",\"step\":1240,\"epoch\":3.9,\"loss\":0.5,\"accuracy\":0.8,\"lr\":0.1,"
    "\"samples_per_second\":640,\"wait_fraction\":0.1}' >> $d/metrics.jsonl\n"
    "echo '{\"split\":\"test\",\"step\":1250,\"epoch\":4,\"loss\":0.3,\"accuracy\":0.91,\"correct\":3640,"
    "\"total\":4000}' >> $d/metrics.jsonl\n";

class LaunchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy_file(std::string(SSD_BINARY_DIR) + "/ssd-run", directory_.File("ssd-run"));
    Script("ssd-server", kServer);
    Script("ssd-worker",
           "[ $i != 0 ] || echo weights > $d/model.safetensors\necho threads=$OMP_NUM_THREADS >&2\n");
  }

  void Script(const std::string& name, const std::string& body) {
    std::filesystem::remove(directory_.File(name));
    Append(directory_.File(name), kReadFlags + body);
    std::filesystem::permissions(directory_.File(name), std::filesystem::perms::owner_all);
  }

  // Runs ssd-run in the folder; keeps what it prints. Returns its exit code.
  int Run(const std::string& arguments) {
    const std::string command = "cd " + directory_.path() + " && ./ssd-run " + arguments + " > out 2> err";
    const int status = std::system(command.c_str());
    out_ = ReadWhole(directory_.File("out"));
    err_ = ReadWhole(directory_.File("err"));
    return WEXITSTATUS(status);
  }
  std::string InRun(const std::string& file) {
    return ReadWhole(directory_.File("runs/quickstart/001/" + file));
  }

  TemporaryDirectory directory_;
  std::string out_;
  std::string err_;
};

TEST_F(LaunchTest, ARunShowsAndKeepsItsResults) {
  ASSERT_EQ(Run("--quickstart --set cluster.threads=3"), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("4 epochs = 1,250 steps\n"), HasSubstr("test: epoch 4.00 (step 1250)"),
                          HasSubstr("test accuracy 91.00% (3640 of 4000)\n"),
                          HasSubstr("--evaluate runs/quickstart/001/model.safetensors\n")));
  EXPECT_THAT(err_, HasSubstr("step 1240/1250 epoch 3.90 loss 0.500"));
  EXPECT_THAT(out_ + err_, AllOf(Not(HasSubstr("\r")), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(InRun("server-1.log"),
              HasSubstr("--config runs/quickstart/001/config.resolved.yaml --shards 1 "));
  EXPECT_THAT(InRun("worker-1.log"), AllOf(HasSubstr("--worker 1 "), HasSubstr("threads=3\n")));
  const auto summary = nlohmann::json::parse(InRun("summary.json"));
  EXPECT_EQ(summary["accuracy"], 0.91);
  EXPECT_EQ(summary["model"], "runs/quickstart/001/model.safetensors");
  EXPECT_EQ(summary["overrides"][0], "cluster.threads=3");
}

TEST_F(LaunchTest, SocketsLieInAFolderOfTheirOwnThatIsRemoved) {
  std::filesystem::create_directory(directory_.File("runtime"));
  ::setenv("XDG_RUNTIME_DIR", directory_.File("runtime").c_str(), 1);
  ASSERT_EQ(Run("--quickstart"), 0);
  ::unsetenv("XDG_RUNTIME_DIR");
  EXPECT_THAT(InRun("config.resolved.yaml"),
              HasSubstr("addresses: [\"unix:" + directory_.File("runtime/ssd-")));
  EXPECT_TRUE(std::filesystem::is_empty(directory_.File("runtime")));
}

TEST_F(LaunchTest, TheResolvedFileOfARunRunsAgain) {
  ASSERT_EQ(Run("--quickstart"), 0);
  ASSERT_EQ(Run("runs/quickstart/001/config.resolved.yaml"), 0) << err_;
  EXPECT_THAT(out_,
              AllOf(HasSubstr("note: cluster.addresses names sockets"), HasSubstr("runs/quickstart/002")));
}

TEST_F(LaunchTest, SocketsOfARunThatIsAliveAreNotUsedAgain) {
  std::filesystem::create_directory(directory_.File("ssd-a1b2c3"));
  const std::string address = "unix:" + directory_.File("ssd-a1b2c3/0.sock");
  ASSERT_EQ(Run("--quickstart --set cluster.servers=1 --set 'cluster.addresses=[\"" + address + "\"]'"), 0)
      << err_;
  EXPECT_THAT(out_, HasSubstr("note: cluster.addresses names sockets"));
  EXPECT_THAT(InRun("config.resolved.yaml"), Not(HasSubstr(address)));
}

TEST_F(LaunchTest, NoWorkerRunsWhereAServerCannotListen) {
  Script("ssd-server",
         "[ $i = 1 ] || { echo listening shard=$i >&2; exec sleep 1000; }\n"
         "echo 'E main.cc:1] exit code=2 address in use' >&2\nexit 2\n");
  const absl::Time before = absl::Now();
  EXPECT_EQ(Run("--quickstart --set cluster.servers=2"), 2);
  EXPECT_LT(absl::Now() - before, absl::Seconds(30));  // less than cluster.peer_timeout
  EXPECT_THAT(err_, HasSubstr("server-1 failed: exit code 2"));
  EXPECT_FALSE(std::filesystem::exists(directory_.File("runs/quickstart/001/worker-0.log")));
}

TEST_F(LaunchTest, ARunThatCannotStartEndsAtOnce) {
  Script("ssd-server", "echo listening shard=$i >&2\nexec sleep 1000\n");
  Script("ssd-worker", "[ $i = 1 ] && exit 2\nexec sleep 1000\n");
  const absl::Time before = absl::Now();
  EXPECT_EQ(Run("--quickstart"), 2);
  EXPECT_LT(absl::Now() - before, absl::Seconds(30));
  EXPECT_THAT(err_, HasSubstr("worker-1 failed: exit code 2"));
}

TEST_F(LaunchTest, OverTcpTheServersGetPortsOfThisMachine) {
  ASSERT_EQ(Run("--quickstart --transport tcp"), 0);
  EXPECT_THAT(InRun("config.resolved.yaml"), HasSubstr("addresses: [\"127.0.0.1:"));
}

TEST_F(LaunchTest, TheFirstFailuresCodeIsTheRunsCode) {
  Script("ssd-worker",
         "[ $i = 1 ] || exit 0\necho 'E main.cc:1] exit code=4 loss is nan at step 12' >&2\nexit 4\n");
  // The servers notice it, as their own consequence, once the run is under way.
  Script("ssd-server",
         "[ $i != 0 ] || echo "
         "'{\"split\":\"start\",\"steps\":1250,\"steps_per_epoch\":312.5,\"global_batch\":64}' >> "
         "$d/metrics.jsonl\n"
         "echo listening shard=$i >&2\n"
         "until [ -e $d/worker-1.log ]; do sleep 0.01; done\nexit 200\n");
  EXPECT_EQ(Run("--quickstart"), 4);
  EXPECT_THAT(
      err_,
      AllOf(HasSubstr("error: worker-1 failed: exit code 4, training diverged: loss is nan at step 12\n"),
            HasSubstr("| E main.cc:1] exit code=4")));
  EXPECT_EQ(nlohmann::json::parse(InRun("summary.json"))["exit_code"], 4);
}

TEST_F(LaunchTest, AMissingProgramIsNamed) {
  std::filesystem::remove(directory_.File("ssd-worker"));
  EXPECT_EQ(Run("--quickstart"), 2);
  EXPECT_THAT(err_, HasSubstr(directory_.File("ssd-worker") + ": there is no such program"));
}

TEST_F(LaunchTest, AProgramThatCannotBeRunIsNamed) {
  std::ofstream(directory_.File("ssd-worker")) << "#!/nowhere\n";
  EXPECT_EQ(Run("--quickstart"), 2);
  EXPECT_THAT(err_, AllOf(HasSubstr("ssd-worker: cannot be run"), HasSubstr("No such file")));
}

TEST_F(LaunchTest, AFolderThatCannotBeMadeIsAStorageError) {
  Append(directory_.File("file"), "");
  EXPECT_EQ(Run("--quickstart --set output.directory=file"), 6);
  EXPECT_THAT(err_, HasSubstr("file/quickstart: cannot make the folder"));
}

TEST_F(LaunchTest, WrongCommandLinesEndWithTwoAndSayWhatIsRight) {
  EXPECT_EQ(Run(""), 2);
  EXPECT_THAT(err_, HasSubstr("usage: ssd-run"));
  EXPECT_EQ(Run("--quickstrt"), 2);
  EXPECT_THAT(err_, HasSubstr("--quickstart"));
  EXPECT_EQ(Run("--quickstart --transport pigeon"), 2);
  EXPECT_THAT(err_, HasSubstr("want unix or tcp"));
  EXPECT_EQ(Run("--quickstart --set sync.kk=2"), 2);
  EXPECT_THAT(err_, HasSubstr("sync.kk"));
  EXPECT_EQ(Run("--quickstart other.yaml"), 2);
  EXPECT_EQ(Run("--help_config=snyc"), 2);
  EXPECT_THAT(err_, HasSubstr("did you mean \"sync\"?"));
  EXPECT_FALSE(std::filesystem::exists(directory_.File("runs")));
}

TEST_F(LaunchTest, QuestionsAreAnsweredOnStandardOutput) {
  EXPECT_EQ(Run("--help"), 0);
  EXPECT_THAT(out_, HasSubstr("--validate_config"));
  EXPECT_EQ(Run("--version"), 0);
  EXPECT_THAT(out_, AllOf(HasSubstr("ssd-run "), HasSubstr("gRPC 1.")));
  EXPECT_EQ(Run("--help_config"), 0);
  EXPECT_THAT(out_, HasSubstr("\n  optimizer.lr\n        number, above 0 and at most 1000; default 0.1\n"));
  EXPECT_EQ(Run("--help_config=sync.k"), 0);
  EXPECT_THAT(out_, Not(HasSubstr("optimizer.lr")));
  EXPECT_EQ(Run("--print_schema"), 0);
  EXPECT_TRUE(nlohmann::json::accept(out_));
  EXPECT_EQ(Run("--quickstart --print_config --set sync.k=8"), 0);
  EXPECT_THAT(out_, HasSubstr("k: 8  # --set"));
  EXPECT_EQ(Run("--quickstart --validate_config"), 0);
  EXPECT_FALSE(std::filesystem::exists(directory_.File("runs")));
}

TEST_F(LaunchTest, AnEvaluationIsTheWorkersWithTheExperimentBesideTheModel) {
  ASSERT_EQ(Run("--quickstart"), 0);
  Script("ssd-worker", "echo accuracy\nexit 5\n");
  EXPECT_EQ(Run("--evaluate runs/quickstart/001/model.safetensors --set seed=3"), 5);
  EXPECT_EQ(out_, "accuracy\n");
  EXPECT_THAT(err_,
              HasSubstr("ssd-worker --config runs/quickstart/001/config.resolved.yaml --evaluate "
                        "runs/quickstart/001/model.safetensors --set cluster.threads=auto --set seed=3\n"));
  EXPECT_EQ(Run("--evaluate runs/quickstart/001/model.safetensors --transport tcp"), 2);
  EXPECT_THAT(err_, HasSubstr("--transport has no effect with --evaluate"));
  EXPECT_EQ(Run("--evaluate elsewhere/model.safetensors"), 2);
  EXPECT_THAT(err_, HasSubstr("elsewhere/config.resolved.yaml: No such file"));
}

}  // namespace
}  // namespace ssd
