#include "deploy/run/display.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>

#include "tests/run/temporary_directory.h"

namespace ssd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const StartRecord kStart = {.steps = 3910, .steps_per_epoch = 391, .global_batch = 128};
const TrainRecord kTrain = {.step = 2421,
                            .epoch = 6.19,
                            .loss = 1.284,
                            .accuracy = 0.536,
                            .learning_rate = 0.1,
                            .samples_per_second = 627.2,
                            .wait_fraction = 0.031};
const TestRecord kTest = {
    .step = 2346, .epoch = 6, .loss = 1.213, .accuracy = 0.561, .correct = 5610, .total = 10000};

Progress Middle() {
  Progress progress;
  progress.Add(kStart);
  progress.Add(kTest);
  progress.Add(kTrain);
  progress.elapsed = absl::Seconds(491);
  return progress;
}

TEST(RenderBarTest, ShowsEverythingWhereThereIsRoom) {
  EXPECT_EQ(RenderBar(Middle(), 200),
            "epoch 7/10  62%|######    | 2421/3910 [08:11<05:03, 4.9 it/s] loss 1.284 acc 0.536 test 0.561 "
            "627 samples/s wait 3%");
}

TEST(RenderBarTest, ShrinksTheBarThenLeavesOutTheLeastImportant) {
  EXPECT_EQ(RenderBar(Middle(), 111),
            "epoch 7/10  62%|###   | 2421/3910 [08:11<05:03, 4.9 it/s] loss 1.284 acc 0.536 test 0.561 "
            "627 samples/s wait 3%");
  EXPECT_EQ(RenderBar(Middle(), 108),
            "epoch 7/10  62%|##  | 2421/3910 [08:11<05:03, 4.9 it/s] loss 1.284 acc 0.536 test 0.561 627 "
            "samples/s");
  EXPECT_EQ(RenderBar(Middle(), 100),
            "epoch 7/10  62%|##  | 2421/3910 [08:11<05:03, 4.9 it/s] loss 1.284 acc 0.536 test 0.561");
  EXPECT_EQ(RenderBar(Middle(), 80),
            "epoch 7/10  62%|##  | 2421/3910 [08:11<05:03, 4.9 it/s] loss 1.284 acc 0.536");
  EXPECT_EQ(RenderBar(Middle(), 70), "epoch 7/10  62%|##  | 2421/3910 [08:11<05:03, 4.9 it/s] loss 1.284");
  EXPECT_EQ(RenderBar(Middle(), 62), "epoch 7/10  62% 2421/3910 [08:11<05:03, 4.9 it/s] loss 1.284");
  EXPECT_EQ(RenderBar(Middle(), 40), "epoch 7/10  62% 2421/3910 loss 1.284");
  EXPECT_EQ(RenderBar(Middle(), 20), "epoch 7/10  62% 2421");
}

TEST(RenderBarTest, NeverExceedsTheWidth) {
  for (int width = 0; width < 150; ++width)
    EXPECT_LE(RenderBar(Middle(), width).size(), static_cast<size_t>(width));
}

TEST(RenderBarTest, BeforeTheFirstRecordsSaysWhatIsKnown) {
  Progress progress;
  progress.elapsed = absl::Seconds(3);
  EXPECT_EQ(RenderBar(progress, 80), "starting [00:03]");
  progress.Add(kStart);
  EXPECT_EQ(RenderBar(progress, 80), "epoch 1/10   0%|          | 0/3910 [00:03<--:--]");
}

TEST(RenderBarTest, TheLastStepIsInTheLastEpochAlsoWhereEpochsAreNoWholeNumberOfSteps) {
  Progress progress;
  progress.Add(StartRecord{.steps = 3907, .steps_per_epoch = 390.625, .global_batch = 128});
  progress.Add(TrainRecord{.step = 390});
  EXPECT_THAT(RenderBar(progress, 200), HasSubstr("epoch 1/10  10%"));
  progress.Add(TrainRecord{.step = 391});
  EXPECT_THAT(RenderBar(progress, 200), HasSubstr("epoch 2/10  10%"));
  progress.Add(TrainRecord{.step = 3907});
  EXPECT_THAT(RenderBar(progress, 200), HasSubstr("epoch 10/10 100%|##########|"));
}

TEST(RenderBarTest, ASlowStepIsGivenInSecondsAStep) {
  Progress progress;
  progress.Add(kStart);
  progress.Add(TrainRecord{.step = 1, .samples_per_second = 64});
  EXPECT_THAT(RenderBar(progress, 200), HasSubstr("2.0 s/it"));
}

TEST(RenderBarTest, ANumberThatIsNoneIsLeftOut) {
  Progress progress = Middle();
  progress.train->loss = NAN;
  EXPECT_THAT(RenderBar(progress, 200), Not(HasSubstr("loss")));
}

TEST(RenderLinesTest, TrainAndTestLines) {
  EXPECT_EQ(RenderTrainLine(Middle()),
            "step 2421/3910 epoch 6.19 loss 1.284 acc 0.536 lr 0.1 627 samples/s wait 3% left 05:03");
  EXPECT_EQ(RenderTestLine(kTest), "test: epoch 6.00 (step 2346) accuracy 56.10% (5610 of 10000) loss 1.213");
}

TEST(RenderDurationTest, HoursAppearWhenThereAreSome) {
  EXPECT_EQ(RenderDuration(absl::Seconds(59)), "00:59");
  EXPECT_EQ(RenderDuration(absl::Seconds(3599.9)), "59:59");
  EXPECT_EQ(RenderDuration(absl::Seconds(4091)), "1:08:11");
  EXPECT_EQ(RenderDuration(absl::InfiniteDuration()), "--:--");
}

// Both outputs in one file, as in a terminal or a log.
class DisplayTest : public ::testing::Test {
 protected:
  std::string Written(bool bar, bool colour) {
    const int fd = ::open(directory_.File("out").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    {
      Display display({.output_fd = fd, .progress_fd = fd, .bar = bar, .colour = colour});
      display.Show(kStart, absl::ZeroDuration());
      display.Show(kTrain, absl::Seconds(1));
      display.Show(kTest, absl::Seconds(1));
      display.Refresh(absl::Seconds(1));
      display.Error("error: lost");
    }
    ::close(fd);
    return ReadWhole(directory_.File("out"));
  }

  TemporaryDirectory directory_;
};

TEST_F(DisplayTest, WithoutATerminalThereAreOnlyPlainLines) {
  EXPECT_EQ(Written(/*bar=*/false, /*colour=*/false),
            "step 2421/3910 epoch 6.19 loss 1.284 acc 0.536 lr 0.1 627 samples/s wait 3% left 05:03\n"
            "test: epoch 6.00 (step 2346) accuracy 56.10% (5610 of 10000) loss 1.213\n"
            "error: lost\n");
}

TEST_F(DisplayTest, TheBarIsClearedBeforeALineAndDrawnAgainBelowIt) {
  const std::string clear = "\r\x1b[K";
  EXPECT_EQ(Written(/*bar=*/true, /*colour=*/false),
            clear + "epoch 1/10   0%|          | 0/3910 [00:00<--:--]" +                                  //
                clear + "epoch 7/10  62%|##  | 2421/3910 [00:01<05:03, 4.9 it/s] loss 1.284 acc 0.536" +  //
                clear + "test: epoch 6.00 (step 2346) accuracy 56.10% (5610 of 10000) loss 1.213\n" +     //
                clear + "epoch 7/10  62%|##  | 2421/3910 [00:01<05:03, 4.9 it/s] loss 1.284 acc 0.536" +  //
                clear + "error: lost\n");
}

TEST_F(DisplayTest, ColourMarksResultsAndErrors) {
  const std::string written = Written(/*bar=*/false, /*colour=*/true);
  EXPECT_THAT(written, HasSubstr("\x1b[1mtest: epoch"));
  EXPECT_THAT(written, HasSubstr("\x1b[31merror: lost\x1b[0m\n"));
}

// Standard output and error on a pseudo terminal, for the length of a test.
class TerminalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    main_side_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_EQ(::grantpt(main_side_), 0);
    ASSERT_EQ(::unlockpt(main_side_), 0);
    const int terminal = ::open(::ptsname(main_side_), O_RDWR | O_NOCTTY);
    ASSERT_GE(terminal, 0);
    for (const int fd : {1, 2}) {
      saved_[fd] = ::dup(fd);
      ::dup2(terminal, fd);
    }
    ::close(terminal);
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
  }
  // The options as they are on the terminal; nothing may be asserted, and so printed, before this.
  Display::Options Options() {
    const Display::Options options = Display::OptionsFromEnvironment();
    for (const int fd : {1, 2}) {
      ::dup2(saved_[fd], fd);
      ::close(saved_[fd]);
    }
    ::close(main_side_);
    return options;
  }

  int main_side_ = -1;
  int saved_[3];
};

TEST_F(TerminalTest, ATerminalHasABarAndColour) {
  const Display::Options options = Options();
  EXPECT_TRUE(options.bar);
  EXPECT_TRUE(options.colour);
}

TEST_F(TerminalTest, NoColourMeansABarWithoutColour) {
  ::setenv("NO_COLOR", "1", 1);
  const Display::Options options = Options();
  EXPECT_TRUE(options.bar);
  EXPECT_FALSE(options.colour);
}

TEST_F(TerminalTest, ADumbTerminalHasPlainLines) {
  ::setenv("TERM", "dumb", 1);
  const Display::Options options = Options();
  EXPECT_FALSE(options.bar);
  EXPECT_FALSE(options.colour);
}

}  // namespace
}  // namespace ssd
