#include "deploy/run/log_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deploy/run/exit_meaning.h"
#include "tests/run/temporary_directory.h"

namespace ssd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LogTailTest, TheLastLinesAreShownAlsoWithoutALineEnd) {
  TemporaryDirectory directory;
  Append(directory.File("log"), "one\ntwo\nthree");
  EXPECT_THAT(LastLines(directory.File("log"), 2), ElementsAre("two", "three"));
  Append(directory.File("log"), "\n");
  EXPECT_THAT(LastLines(directory.File("log"), 5), ElementsAre("one", "two", "three"));
}

TEST(LogTailTest, AnEmptyOrMissingLogHasNone) {
  TemporaryDirectory directory;
  Append(directory.File("log"), "");
  EXPECT_THAT(LastLines(directory.File("log"), 2), IsEmpty());
  EXPECT_THAT(LastLines(directory.File("missing"), 2), IsEmpty());
}

TEST(LogTailTest, AHugeLogIsReadFromItsEnd) {
  TemporaryDirectory directory;
  Append(directory.File("log"), std::string(1 << 20, 'x') + "\nlast\n");
  EXPECT_THAT(LastLines(directory.File("log"), 1), ElementsAre("last"));
}

TEST(LogTailTest, TheEndingMessageIsWhatFollowsTheLastExitCode) {
  EXPECT_EQ(
      EndingMessage({"x exit code=1 first", "I1130 main.cc:9] exit code=4 loss is nan at step 12", "later"}),
      "loss is nan at step 12");
  EXPECT_EQ(EndingMessage({"exit code=0"}), "");
  EXPECT_EQ(EndingMessage({}), "");
}

TEST(ExitMeaningTest, NamesTheCodesAndTheSignals) {
  EXPECT_EQ(ExitMeaning(4), "training diverged");
  EXPECT_EQ(ExitMeaning(137), "ended by signal 9 (Killed)");
  EXPECT_EQ(ExitMeaning(77), "unknown exit code 77");
}

}  // namespace
}  // namespace ssd
