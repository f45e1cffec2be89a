#include "deploy/run/page/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "deploy/run/page/option_table.h"
#include "deploy/run/page/run_figures.h"
#include "tests/run/temporary_directory.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::Pair;

class RunRecordTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) { Append(directory_.File(name), text); }
  RunRecord Read() {
    absl::StatusOr<RunRecord> run = ReadRunRecord(directory_.path(), Disk::Real());
    EXPECT_OK(run.status());
    return run.ok() ? *run : RunRecord{};
  }

  TemporaryDirectory directory_;
};

TEST_F(RunRecordTest, AMissingFolderIsNamed) {
  EXPECT_THAT(ReadRunRecord(directory_.File("none"), Disk::Real()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(directory_.File("none"))));
}

TEST_F(RunRecordTest, AFolderOfSomethingElseIsNoRun) {
  Write("notes.txt", "x");
  EXPECT_THAT(ReadRunRecord(directory_.path(), Disk::Real()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(directory_.path()), HasSubstr("metrics.jsonl"))));
}

TEST_F(RunRecordTest, ARunThatGoesOnIsReadUpToItsLastWholeLine) {
  Write("metrics.jsonl",
        "{\"ts\":\"2026-11-30T15:00:00.500+00:00\",\"split\":\"start\",\"steps\":100}\n"
        "{\"ts\":\"2026-11-30T16:00:02.000+01:00\",\"split\":\"train\",\"step\":20,\"loss\":null}\n"
        "\xff\xfe{{{ damaged\n"
        "{\"ts\":\"2026-11-30T15:00:09.000+00:00\",\"split\":\"test\",\"step\":20,\"accuracy\":0.5,"
        "\"elapsed\":8.25}\n"
        "{\"ts\":\"2026-11-30T15:00:10.000+00:00\",\"split\":\"tra");
  const RunRecord run = Read();
  ASSERT_EQ(run.train.size(), 1u);
  EXPECT_EQ(run.train[0].elapsed, 1.5) << "from the time stamps";
  EXPECT_TRUE(std::isnan(run.train[0].loss));
  ASSERT_EQ(run.test.size(), 1u);
  EXPECT_EQ(run.test[0].elapsed, 8.25) << "as it is written";
  EXPECT_EQ(run.exit_code, std::nullopt);
  EXPECT_THAT(run.options, IsEmpty());
}

TEST_F(RunRecordTest, OptionsAreThoseWithAnEffectAndTheExitCodeIsTheSummarys) {
  Write("config.resolved.yaml",
        "name: a  # --set\nsync:\n  policy: ssgd  # default\n  # k: 4  # default, not used with this "
        "sync.policy\n"
        "  local:\n    # beta: auto\ncluster:\n  addresses: [\"unix:/a\", \"unix:/b\"]\n  "
        "of_another_version: 7\n");
  Write("summary.json", "{\"exit_code\": 4}");
  const RunRecord run = Read();
  EXPECT_THAT(run.options, ElementsAre(Pair("name", "a"), Pair("sync.policy", "ssgd"),
                                       Pair("cluster.addresses", "[unix:/a, unix:/b]"),
                                       Pair("cluster.of_another_version", "7")));
  EXPECT_EQ(run.exit_code, 4);
}

TEST(LabelRunsTest, LabelsAreShortAndTellRunsApart) {
  std::vector<RunRecord> runs = {
      {.folder = "/x/runs/ssgd/001"}, {.folder = "/x/runs/ssd/001/"}, {.folder = "solo"}};
  LabelRuns(runs);
  EXPECT_EQ(runs[0].label, "ssgd/001");
  EXPECT_EQ(runs[1].label, "ssd/001");
  EXPECT_EQ(runs[2].label, "solo");
  std::vector<RunRecord> alike = {
      {.folder = "monday/ssd/001"}, {.folder = "tuesday/ssd/001"}, {.folder = "solo"}};
  LabelRuns(alike);
  EXPECT_EQ(alike[0].label, "monday/ssd/001");
  EXPECT_EQ(alike[1].label, "tuesday/ssd/001");
  std::vector<RunRecord> twice = {{.folder = "a/b/001"}, {.folder = "a/b/001"}};
  LabelRuns(twice);
  EXPECT_EQ(twice[0].label, "a/b/001");
}

TEST(RunFiguresTest, SumsWeightReportsByWhatTheyCover) {
  RunRecord run;
  // 10 steps of 40 samples in 4 s, then 30 steps of 120 samples in 4 s.
  run.train = {{.elapsed = 5,
                .step = 10,
                .epoch = 1,
                .loss = 2,
                .samples = 40,
                .samples_per_second = 10,
                .wait_fraction = 0.5,
                .bytes_pushed = 100,
                .bytes_pulled = 10,
                .step_times = {.compute = 0.2, .wait = 0.2}},
               {.elapsed = 10,
                .step = 40,
                .epoch = 4,
                .loss = 1,
                .samples = 160,
                .samples_per_second = 30,
                .wait_fraction = 0.1,
                .bytes_pushed = 400,
                .bytes_pulled = 40,
                .step_times = {.compute = 0.1, .wait = 0.0}}};
  run.test = {
      {.elapsed = 6, .step = 10, .epoch = 1, .accuracy = 0.5},
      {.elapsed = 11, .step = 20, .epoch = 2, .accuracy = 0.75},
      {.elapsed = 12, .step = 40, .epoch = 4, .accuracy = 0.625, .bytes_pushed = NAN, .bytes_pulled = NAN}};
  const RunFigures figures = FiguresOf(run);
  EXPECT_EQ(figures.steps, 40);
  EXPECT_EQ(figures.epochs, 4);
  EXPECT_EQ(figures.last_test->accuracy, 0.625);
  EXPECT_EQ(figures.best_test->epoch, 2);
  EXPECT_EQ(figures.train_loss, 1);
  EXPECT_EQ(figures.wall_seconds, 12);
  EXPECT_DOUBLE_EQ(figures.samples_per_second, 20);
  EXPECT_DOUBLE_EQ(figures.wait_fraction, 0.3);
  EXPECT_EQ(figures.bytes_pushed, 400);
  EXPECT_EQ(figures.bytes_pulled, 40);
  EXPECT_DOUBLE_EQ(figures.step_times.compute, 0.125);
  EXPECT_DOUBLE_EQ(figures.step_times.wait, 0.05);
}

TEST(RunFiguresTest, NothingIsKnownOfARunWithoutRecords) {
  const RunFigures figures = FiguresOf({});
  EXPECT_EQ(figures.steps, 0);
  EXPECT_EQ(figures.last_test.has_value(), false);
  for (const double figure :
       {figures.epochs, figures.train_loss, figures.wall_seconds, figures.samples_per_second,
        figures.wait_fraction, figures.bytes_pushed, Sum(figures.step_times)})
    EXPECT_TRUE(std::isnan(figure));
}

TEST(OptionTableTest, OnlyWhatDiffersIsThereAndPlacesAreNot) {
  std::vector<RunRecord> runs(3);
  runs[0].options = {{"name", "a"},
                     {"seed", "1"},
                     {"sync.policy", "ssgd"},
                     {"cluster.addresses", "x"},
                     {"cluster.threads", "1"}};
  runs[1].options = {{"name", "b"},
                     {"seed", "1"},
                     {"sync.policy", "ssd_sgd"},
                     {"sync.k", "4"},
                     {"cluster.addresses", "y"},
                     {"cluster.threads", "1"}};
  const OptionTable table = DifferingOptions(runs);
  EXPECT_THAT(table.names, ElementsAre("sync.policy", "sync.k"));
  ASSERT_EQ(table.values.size(), 3u);
  EXPECT_THAT(table.values[0], ElementsAre(Optional(std::string("ssgd")), std::nullopt));
  EXPECT_THAT(table.values[1], ElementsAre(Optional(std::string("ssd_sgd")), Optional(std::string("4"))));
  EXPECT_THAT(table.values[2], IsEmpty()) << "its file could not be read";
}

}  // namespace
}  // namespace ssd
