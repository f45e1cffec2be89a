#include "deploy/run/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace ssd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kServer = 0, kFirst = 1, kSecond = 2;

absl::Duration At(int seconds) { return absl::Seconds(seconds); }

const Supervisor::Options kOptions = {
    .num_servers = 1, .num_workers = 2, .peer_timeout = At(60), .grace = At(10)};

// One server and two workers; peers notice a loss within 60 s.
class SupervisorTest : public ::testing::Test {
 protected:
  void Ends(int child, int code, int now = 0) {
    supervisor_.ChildrenEnded({{.child = child, .code = code}}, At(now));
  }

  // One whose run has started.
  static Supervisor Started() {
    Supervisor supervisor(kOptions);
    supervisor.RunStarted();
    return supervisor;
  }

  Supervisor supervisor_ = Started();
};

TEST_F(SupervisorTest, ARunThatCanNeverStartIsStoppedAtOnce) {
  supervisor_ = Supervisor(kOptions);
  Ends(kFirst, 2, /*now=*/100);
  EXPECT_THAT(supervisor_.DeadlineReached(At(100)).children, ElementsAre(kServer, kSecond));
}

TEST_F(SupervisorTest, BeforeTheStartAConsequenceAloneLeavesTimeForItsCause) {
  supervisor_ = Supervisor(kOptions);
  Ends(kFirst, 201, /*now=*/100);
  EXPECT_EQ(supervisor_.deadline(), At(165));
  Ends(kSecond, 2, /*now=*/110);
  EXPECT_EQ(supervisor_.deadline(), At(110));
}

TEST_F(SupervisorTest, WorkersThatWaitAreNotAliveUntilTheyAreStarted) {
  Supervisor::Options options = kOptions;
  options.workers_wait = true;
  Supervisor failed(options);
  failed.ChildrenEnded({{.child = kServer, .code = 2}}, At(0));
  EXPECT_TRUE(failed.done());
  Supervisor supervisor(options);
  supervisor.WorkersStarted();
  supervisor.ChildrenEnded({{.child = kServer, .code = 0}}, At(0));
  EXPECT_FALSE(supervisor.done());
  EXPECT_TRUE(supervisor.alive(kSecond));
}

TEST_F(SupervisorTest, ARunWhoseChildrenAllEndWithZeroIsDone) {
  Ends(kFirst, 0);
  EXPECT_EQ(supervisor_.deadline(), absl::InfiniteDuration());
  Ends(kSecond, 0);
  Ends(kServer, 0);
  ASSERT_TRUE(supervisor_.done());
  EXPECT_EQ(supervisor_.outcome().code, 0);
  EXPECT_FALSE(supervisor_.outcome().first.has_value());
}

TEST_F(SupervisorTest, TheChildThatFailedFirstIsTheReason) {
  Ends(kSecond, 3);
  Ends(kFirst, 1);
  Ends(kServer, 2);
  EXPECT_EQ(supervisor_.outcome().code, 3);
  EXPECT_EQ(supervisor_.outcome().first->child, kSecond);
}

TEST_F(SupervisorTest, ACauseOutranksAConsequenceThatWasSeenFirst) {
  Ends(kServer, 200);
  Ends(kFirst, 201);
  Ends(kSecond, 4);
  EXPECT_EQ(supervisor_.outcome().code, 4);
  EXPECT_EQ(supervisor_.outcome().first->child, kSecond);
}

TEST_F(SupervisorTest, AKilledChildOutranksThoseThatLostIt) {
  supervisor_.ChildrenEnded(
      {{.child = kServer, .code = 200}, {.child = kFirst, .code = 137, .signal = SIGKILL}}, At(0));
  Ends(kSecond, 200);
  EXPECT_EQ(supervisor_.outcome().code, 137);
}

TEST_F(SupervisorTest, ALossWithoutACauseIsItselfTheReason) {
  Ends(kFirst, 200);
  Ends(kSecond, 201);
  Ends(kServer, 0);
  EXPECT_EQ(supervisor_.outcome().code, 200);
}

TEST_F(SupervisorTest, AfterAFailureTheOthersHaveTimeToEndBeforeTheyAreTerminatedAndKilled) {
  Ends(kFirst, 1, /*now=*/100);
  EXPECT_EQ(supervisor_.deadline(), At(165));
  EXPECT_EQ(supervisor_.DeadlineReached(At(164)).signal, 0);
  const Supervisor::Action terminate = supervisor_.DeadlineReached(At(165));
  EXPECT_EQ(terminate.signal, SIGTERM);
  EXPECT_THAT(terminate.children, ElementsAre(kServer, kSecond));
  Ends(kServer, 143, 166);
  EXPECT_EQ(supervisor_.deadline(), At(175));
  const Supervisor::Action kill = supervisor_.DeadlineReached(At(175));
  EXPECT_EQ(kill.signal, SIGKILL);
  EXPECT_THAT(kill.children, ElementsAre(kSecond));
  EXPECT_EQ(supervisor_.deadline(), absl::InfiniteDuration());
  Ends(kSecond, 137, 176);
  EXPECT_EQ(supervisor_.outcome().code, 1);
}

TEST_F(SupervisorTest, ALaterFailureDoesNotProlongTheWait) {
  Ends(kFirst, 1, /*now=*/100);
  Ends(kSecond, 200, /*now=*/150);
  EXPECT_EQ(supervisor_.deadline(), At(165));
}

TEST_F(SupervisorTest, AServerThatDoesNotEndAfterTheWorkersIsAnInternalError) {
  Ends(kFirst, 0, 10);
  Ends(kSecond, 0, 20);
  EXPECT_EQ(supervisor_.deadline(), At(85));
  EXPECT_THAT(supervisor_.DeadlineReached(At(85)).children, ElementsAre(kServer));
  Ends(kServer, 143, 86);
  EXPECT_TRUE(supervisor_.outcome().hung);
  EXPECT_EQ(supervisor_.outcome().code, 1);
}

TEST_F(SupervisorTest, AnInterruptGoesToTheLivingAndIsTheReason) {
  Ends(kFirst, 0);
  const Supervisor::Action action = supervisor_.Signalled(SIGINT, At(10));
  EXPECT_EQ(action.signal, SIGINT);
  EXPECT_THAT(action.children, ElementsAre(kServer, kSecond));
  EXPECT_EQ(supervisor_.deadline(), At(75));
  Ends(kSecond, 130);
  Ends(kServer, 200);
  EXPECT_EQ(supervisor_.outcome().code, 130);
  EXPECT_EQ(supervisor_.outcome().signal, SIGINT);
  EXPECT_FALSE(supervisor_.outcome().first.has_value());
}

TEST_F(SupervisorTest, ASecondInterruptKills) {
  supervisor_.Signalled(SIGINT, At(10));
  const Supervisor::Action action = supervisor_.Signalled(SIGINT, At(11));
  EXPECT_EQ(action.signal, SIGKILL);
  EXPECT_THAT(action.children, ElementsAre(kServer, kFirst, kSecond));
  EXPECT_EQ(supervisor_.Signalled(SIGINT, At(12)).signal, 0);
  for (const int child : {kServer, kFirst, kSecond}) Ends(child, 137);
  EXPECT_EQ(supervisor_.outcome().code, 130);
}

TEST_F(SupervisorTest, ARepeatedTerminationChangesNothing) {
  EXPECT_EQ(supervisor_.Signalled(SIGTERM, At(10)).signal, SIGTERM);
  EXPECT_EQ(supervisor_.Signalled(SIGTERM, At(20)).signal, 0);
  EXPECT_EQ(supervisor_.deadline(), At(75));
  for (const int child : {kServer, kFirst, kSecond}) Ends(child, 143);
  EXPECT_EQ(supervisor_.outcome().code, 143);
}

TEST_F(SupervisorTest, ChildrenThatIgnoreAnInterruptAreKilledAtTheDeadline) {
  supervisor_.Signalled(SIGINT, At(10));
  EXPECT_EQ(supervisor_.DeadlineReached(At(75)).signal, SIGKILL);
}

TEST_F(SupervisorTest, AHangUpTerminatesTheChildren) {
  EXPECT_EQ(supervisor_.Signalled(SIGHUP, At(10)).signal, SIGTERM);
  for (const int child : {kServer, kFirst, kSecond}) Ends(child, 143);
  EXPECT_EQ(supervisor_.outcome().code, 129);
}

TEST_F(SupervisorTest, AFailureBeforeTheInterruptStaysTheReason) {
  Ends(kFirst, 3, 5);
  EXPECT_EQ(supervisor_.Signalled(SIGINT, At(6)).signal, SIGINT);
  Ends(kSecond, 130, 7);
  Ends(kServer, 130, 7);
  EXPECT_EQ(supervisor_.outcome().code, 3);
}

TEST_F(SupervisorTest, ARunThatFinishedDespiteTheInterruptIsDone) {
  supervisor_.Signalled(SIGINT, At(10));
  for (const int child : {kFirst, kSecond, kServer}) Ends(child, 0);
  EXPECT_EQ(supervisor_.outcome().code, 0);
}

TEST_F(SupervisorTest, NothingIsSentOnceAllHaveEnded) {
  for (const int child : {kFirst, kSecond, kServer}) Ends(child, 0);
  EXPECT_EQ(supervisor_.Signalled(SIGINT, At(1)).signal, 0);
  EXPECT_THAT(supervisor_.DeadlineReached(At(1000)).children, IsEmpty());
}

}  // namespace
}  // namespace ssd
