#include "common/logging.h"

#include <string>

#include "common/status_macros.h"

namespace ssd {
namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

// Shows messages of all severities during one test.
class LoggingTest : public ::testing::Test {
 protected:
  void SetUp() override { SetMinLogSeverity(LogSeverity::kInfo); }
  void TearDown() override {
    SetMinLogSeverity(LogSeverity::kError);
    SetVerbosity(0);
    SetLogName("");
  }
};

TEST_F(LoggingTest, ALineNamesTimeProcessFileAndText) {
  SetLogName("worker-3");
  CaptureStderr();
  LOG(INFO) << "joined shards=" << 2;
  EXPECT_THAT(
      GetCapturedStderr(),
      ::testing::MatchesRegex(
          "I[0-9]+ [0-9:]+\\.[0-9]+ [-+][0-9]+ worker-3 logging_test\\.cc:[0-9]+\\] joined shards=2\n"));
}

TEST_F(LoggingTest, SeverityIsTheFirstLetter) {
  CaptureStderr();
  LOG(WARNING) << "w";
  LOG(ERROR) << "e";
  const std::string lines = GetCapturedStderr();
  EXPECT_EQ(lines[0], 'W');
  EXPECT_THAT(lines, HasSubstr("\nE"));
}

TEST_F(LoggingTest, VlogShowsWhatTheVerbosityAllows) {
  CaptureStderr();
  SetVerbosity(1);
  int evaluated = 0;
  VLOG(1) << "shown" << ++evaluated;
  VLOG(2) << "hidden" << ++evaluated;
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("shown1"));
  EXPECT_EQ(evaluated, 1) << "hidden messages cost nothing";
}

TEST_F(LoggingTest, MessagesBelowTheLeastSeverityAreNotWritten) {
  SetMinLogSeverity(LogSeverity::kWarning);
  CaptureStderr();
  LOG(INFO) << "quiet";
  LOG(WARNING) << "loud";
  const std::string lines = GetCapturedStderr();
  EXPECT_THAT(lines, Not(HasSubstr("quiet")));
  EXPECT_THAT(lines, HasSubstr("loud"));
}

TEST(LoggingDeathTest, CheckSaysWhatFailedAndWhy) {
  const int k = 0;
  EXPECT_DEATH(CHECK(k > 0) << "k is " << k, "F.*logging_test\\.cc:[0-9]+\\] check failed: k > 0 k is 0");
  EXPECT_DEATH(CHECK_EQ(k, 3) << "of three", "check failed: k == 3 \\(0 and 3\\) of three");
  EXPECT_DEATH(CHECK_OK(absl::NotFoundError("no such block")), "NOT_FOUND: no such block");
}

TEST(LoggingDeathTest, FatalIsWrittenWhateverTheLeastSeverity) {
  SetMinLogSeverity(LogSeverity::kFatal);
  EXPECT_DEATH(LOG(FATAL) << "the end", "the end");
  SetMinLogSeverity(LogSeverity::kError);
}

TEST(LoggingTestWithoutDeath, ChecksThatHoldSayNothingAndEvaluateOnce) {
  int evaluated = 0;
  CHECK(++evaluated == 1) << "never";
  CHECK_GE(++evaluated, 2);
  EXPECT_EQ(evaluated, 2);
  if (evaluated == 2)
    CHECK_LT(1, 2);
  else
    FAIL() << "a CHECK takes no else from its if";
}

absl::Status FailsInTheMiddle(const absl::StatusOr<int>& number, int* reached) {
  ASSIGN_OR_RETURN(*reached, number);
  RETURN_IF_ERROR(absl::CancelledError("here"));
  *reached = -1;
  return absl::OkStatus();
}

TEST(StatusMacrosTest, ReturnTheFirstError) {
  int reached = 0;
  EXPECT_THAT(FailsInTheMiddle(absl::NotFoundError("x"), &reached),
              testing::StatusIs(absl::StatusCode::kNotFound, "x"));
  EXPECT_EQ(reached, 0);
  EXPECT_THAT(FailsInTheMiddle(5, &reached), testing::StatusIs(absl::StatusCode::kCancelled, "here"));
  EXPECT_EQ(reached, 5);
}

}  // namespace
}  // namespace ssd
