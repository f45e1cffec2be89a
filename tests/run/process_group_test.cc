#include "deploy/run/process_group.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "tests/run/temporary_directory.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kFakeChild = std::string(SSD_BINARY_DIR) + "/run_fake_child";

// A pipe that children inherit, through which they tell that they got somewhere, or, by its end, that they
// are gone.
class Inherited {
 public:
  Inherited() {
    if (::pipe(ends_) != 0) std::abort();
    ::fcntl(ends_[0], F_SETFD, FD_CLOEXEC);
  }
  ~Inherited() {
    ::close(ends_[0]);
    CloseWriteEnd();
  }
  std::string write_end() const { return std::to_string(ends_[1]); }
  void CloseWriteEnd() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  // The number of bytes read, 0 at the end (all writers are gone), -1 when 60 s pass first.
  ssize_t Read() {
    struct pollfd readable = {.fd = ends_[0], .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, 60'000) != 1) return -1;
    char byte;
    return ::read(ends_[0], &byte, 1);
  }

 private:
  int ends_[2];
};

// Calls a function at every tick, and keeps what it is told.
class Recorder : public GroupObserver {
 public:
  void Tick() override {
    if (on_tick) on_tick();
  }
  void ChildEnded(const ChildEnding& ending) override { endings.push_back(ending); }
  void Acted(const Supervisor::Action& action, int) override { signals.push_back(action.signal); }

  std::function<void()> on_tick;
  std::vector<ChildEnding> endings;
  std::vector<int> signals;
};

class ProcessGroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto group = ProcessGroup::Create(Clock::Real());
    ASSERT_OK(group.status());
    group_ = *std::move(group);
  }

  void Start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), kFakeChild);
    ASSERT_OK(group_->Start({.arguments = arguments,
                             .environment = {{"OMP_NUM_THREADS", "3"}},
                             .log_path = directory_.File("log-" + std::to_string(started_++))}));
  }
  // Child 0 is the server.
  Supervisor::Outcome Run(absl::Duration peer_timeout = absl::Seconds(60)) {
    const absl::StatusOr<Supervisor::Outcome> outcome =
        group_->Run({.num_servers = 1, .num_workers = started_ - 1, .peer_timeout = peer_timeout},
                    /*tick=*/absl::Milliseconds(5), recorder_);
    EXPECT_OK(outcome.status());
    return outcome.value_or(Supervisor::Outcome{.code = -1});
  }
  std::string Log(int child) { return ReadWhole(directory_.File("log-" + std::to_string(child))); }
  // Sends the launcher, this process, a signal once `ready` has got a byte from each of `count` children.
  void SignalWhenReady(int signal, Inherited* ready, int count) {
    for (int i = 0; i < count; ++i) ASSERT_EQ(ready->Read(), 1);
    ::kill(::getpid(), signal);
  }

  TemporaryDirectory directory_;
  std::unique_ptr<ProcessGroup> group_;
  Recorder recorder_;
  int started_ = 0;
};

TEST_F(ProcessGroupTest, ChildrenRunWithTheirEnvironmentAndLog) {
  Start({"environment", "OMP_NUM_THREADS", "say", "hello"});
  Start({"environment", "PATH"});
  EXPECT_EQ(Run().code, 0);
  EXPECT_EQ(Log(0), "OMP_NUM_THREADS=3\nhello\n");
  EXPECT_THAT(Log(1), ::testing::StartsWith("PATH=/"));
}

TEST_F(ProcessGroupTest, ExitCodesAndSignalsOfChildrenAreTold) {
  Start({"exit", "0"});
  Start({"raise", std::to_string(SIGABRT)});  // not one that the address sanitizer turns into an exit code
  const Supervisor::Outcome outcome = Run();
  EXPECT_EQ(outcome.code, 128 + SIGABRT);
  ASSERT_TRUE(outcome.first.has_value());
  EXPECT_EQ(outcome.first->child, 1);
  EXPECT_EQ(outcome.first->signal, SIGABRT);
  EXPECT_EQ(recorder_.endings.size(), 2u);
}

TEST_F(ProcessGroupTest, AnInterruptIsForwarded) {
  Inherited ready;
  Start({"on", std::to_string(SIGINT), "130", "tell", ready.write_end(), "wait"});
  Start({"on", std::to_string(SIGINT), "130", "tell", ready.write_end(), "wait"});
  SignalWhenReady(SIGINT, &ready, 2);
  EXPECT_EQ(Run().code, 130);
  EXPECT_THAT(recorder_.signals, ElementsAre(SIGINT));
  ASSERT_EQ(recorder_.endings.size(), 2u);
  EXPECT_EQ(recorder_.endings[0].code, 130);
}

TEST_F(ProcessGroupTest, ATerminationIsForwarded) {
  Inherited ready;
  Start({"on", std::to_string(SIGTERM), "143", "tell", ready.write_end(), "wait"});
  SignalWhenReady(SIGTERM, &ready, 1);
  EXPECT_EQ(Run().code, 143);
  EXPECT_THAT(recorder_.signals, ElementsAre(SIGTERM));
}

TEST_F(ProcessGroupTest, ASecondInterruptKillsWhoIgnoresTheFirst) {
  Inherited ready;
  Start({"ignore", std::to_string(SIGINT), "tell", ready.write_end(), "wait"});
  SignalWhenReady(SIGINT, &ready, 1);
  bool sent = false;
  recorder_.on_tick = [&] {
    // Two pending signals of one kind are one; so the second follows the first's forwarding.
    if (!sent && !recorder_.signals.empty()) sent = ::kill(::getpid(), SIGINT) == 0;
  };
  EXPECT_EQ(Run().code, 130);
  EXPECT_THAT(recorder_.signals, ElementsAre(SIGINT, SIGKILL));
  ASSERT_EQ(recorder_.endings.size(), 1u);
  EXPECT_EQ(recorder_.endings[0].signal, SIGKILL);
}

TEST_F(ProcessGroupTest, AKilledChildIsTheReasonThoughItsPeerComplains) {
  Inherited ready;
  Start({"on", std::to_string(SIGUSR1), "200", "tell", ready.write_end(), "wait"});
  Start({"tell", ready.write_end(), "wait"});
  ASSERT_EQ(ready.Read(), 1);
  ASSERT_EQ(ready.Read(), 1);
  ::kill(group_->pid(0), SIGUSR1);
  recorder_.on_tick = [this] {
    if (recorder_.endings.size() == 1) ::kill(group_->pid(1), SIGKILL);
  };
  EXPECT_EQ(Run().code, 137);
}

TEST_F(ProcessGroupTest, ChildrenLeadGroupsOfTheirOwn) {
  Inherited ready;
  Start({"tell", ready.write_end(), "wait"});
  ASSERT_EQ(ready.Read(), 1);
  EXPECT_EQ(::getpgid(group_->pid(0)), group_->pid(0));
}

TEST_F(ProcessGroupTest, NoChildSurvivesTheGroup) {
  Inherited alive;
  Start({"tell", alive.write_end(), "ignore", std::to_string(SIGTERM), "wait"});
  ASSERT_EQ(alive.Read(), 1);
  alive.CloseWriteEnd();
  group_.reset();
  EXPECT_EQ(alive.Read(), 0);
}

TEST_F(ProcessGroupTest, NoChildSurvivesAKillOfTheLauncher) {
  Inherited alive;
  const pid_t launcher = ::fork();
  ASSERT_GE(launcher, 0);
  if (launcher == 0) {
    Start({"tell", alive.write_end(), "wait"});
    Start({"tell", alive.write_end(), "wait"});
    Run();
    ::_exit(0);
  }
  alive.CloseWriteEnd();
  ASSERT_EQ(alive.Read(), 1);
  ASSERT_EQ(alive.Read(), 1);
  ::kill(launcher, SIGKILL);
  EXPECT_EQ(alive.Read(), 0) << "a child still holds its end of the pipe";
  ::waitpid(launcher, nullptr, 0);
}

TEST_F(ProcessGroupTest, AMissingProgramIsNamed) {
  EXPECT_THAT(group_->Start({.arguments = {"/nowhere/ssd-server"}, .log_path = directory_.File("log")}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("/nowhere/ssd-server"), HasSubstr("No such file"))));
}

TEST_F(ProcessGroupTest, ALogThatCannotBeOpenedIsNamed) {
  EXPECT_THAT(group_->Start({.arguments = {kFakeChild}, .log_path = directory_.File("missing/log")}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing/log")));
}

}  // namespace
}  // namespace ssd
