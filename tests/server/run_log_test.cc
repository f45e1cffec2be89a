#include "server/run_log.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/io/memory_disk.h"
#include "tests/testing/manual_executor.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// A run of two workers with 4 steps an epoch; learning rate 0.5.
class RunLogTest : public ::testing::Test {
 protected:
  RunLogTest() {
    v1::Hello hello;
    hello.set_samples_per_epoch(64);
    v1::Hello::Tensor* tensor = hello.add_parameters();
    tensor->add_shape(3);
    tensor->add_shape(2);
    EXPECT_OK(log_.OnStart(hello,
                           {.steps_per_epoch = 4,
                            .schedule = {.total_steps = 8},
                            .learning_rate = {.base = 0.5, .total_steps = 8}},
                           /*workers=*/2));
    clock_.Advance(absl::Seconds(3));
  }

  // The lines of metrics.jsonl, without their time.
  std::vector<Json> Lines() {
    std::vector<Json> lines;
    for (absl::string_view text : absl::StrSplit(disk_.files["run/metrics.jsonl"], '\n', absl::SkipEmpty())) {
      lines.push_back(Json::parse(text));
      EXPECT_EQ(lines.back().erase("ts"), 1u);
    }
    return lines;
  }

  MemoryDisk disk_;
  testing::ManualExecutor clock_;
  RunLog log_{clock_,
              disk_,
              {.lines_path = "run/metrics.jsonl",
               .event_directory = "run/tensorboard/server-0",
               .source = {"host", 7}}};
};

TEST_F(RunLogTest, TheFirstLineSaysWhatTheRunIs) {
  EXPECT_EQ(Lines().at(0), Json({{"split", "start"},
                                 {"steps", 8},
                                 {"steps_per_epoch", 4.0},
                                 {"samples_per_epoch", 64},
                                 {"global_batch", 16},
                                 {"workers", 2},
                                 {"parameters", 6}}));
}

TEST_F(RunLogTest, AReportIsMeansOverTheWorkersAndTheInterval) {
  v1::Report sum;
  sum.set_step(2);
  sum.set_steps(2);
  sum.set_samples(32);
  sum.set_loss_sum(64);
  sum.set_correct(8);
  sum.set_seconds(8);
  sum.set_wait_seconds(2);
  sum.set_bytes_pushed(100);
  sum.set_bytes_pulled(10);
  ASSERT_OK(log_.OnReport(sum, /*workers=*/2, /*lead=*/5));
  const Json line = Lines().at(1);
  EXPECT_EQ(line["split"], "train");
  EXPECT_EQ(line["step"], 2);
  EXPECT_EQ(line["epoch"], 0.5);
  EXPECT_EQ(line["loss"], 2.0);
  EXPECT_EQ(line["accuracy"], 0.25);
  EXPECT_EQ(line["lr"], 0.5);
  EXPECT_EQ(line["samples"], 32);
  EXPECT_EQ(line["elapsed"], 3.0);
  EXPECT_EQ(line["lead"], 5);
  EXPECT_EQ(line["bytes_pushed"], 100);
  EXPECT_EQ(line["bytes_pulled"], 10);
  EXPECT_EQ(line["samples_per_second"], 8.0);
  EXPECT_EQ(line["wait_fraction"], 0.25);
  EXPECT_EQ(line["time"]["wait"], 0.5);
  EXPECT_THAT(disk_.files["run/tensorboard/server-0/events.out.tfevents.0000001003.host.7.0"],
              ::testing::IsEmpty())
      << "the file is from the start";
  EXPECT_THAT(disk_.files["run/tensorboard/server-0/events.out.tfevents.0000001000.host.7.0"],
              HasSubstr("train/loss"));
}

TEST_F(RunLogTest, SamplesAndBytesAddUpOverTheRun) {
  v1::Report sum;
  sum.set_samples(32);
  sum.set_bytes_pushed(100);
  sum.set_bytes_pulled(10);
  for (const uint64_t step : {2, 4}) {
    sum.set_step(step);
    ASSERT_OK(log_.OnReport(sum, /*workers=*/2, /*lead=*/0));
  }
  ASSERT_OK(log_.OnEvaluation({}));
  EXPECT_EQ(Lines().at(2)["samples"], 64);
  EXPECT_EQ(Lines().at(3)["bytes_pushed"], 200);
  EXPECT_EQ(Lines().at(3)["bytes_pulled"], 20);
}

TEST_F(RunLogTest, AnEvaluationKeepsTheCountsItComesFrom) {
  v1::Evaluated sum;
  sum.set_version(4);
  sum.set_loss_sum(5);
  sum.set_correct(3);
  sum.set_samples(4);
  ASSERT_OK(log_.OnEvaluation(sum));
  const Json line = Lines().at(1);
  EXPECT_EQ(line["split"], "test");
  EXPECT_EQ(line["step"], 4);
  EXPECT_EQ(line["epoch"], 1.0);
  EXPECT_EQ(line["loss"], 1.25);
  EXPECT_EQ(line["accuracy"], 0.75);
  EXPECT_EQ(line["correct"], 3);
  EXPECT_EQ(line["total"], 4);
}

}  // namespace
}  // namespace ssd
