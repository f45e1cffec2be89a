#include "deploy/run/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/run/temporary_directory.h"

namespace ssd {
namespace {

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    result_.name = "test";
    result_.directory = directory_.path();
    result_.children = {"server-0", "worker-0", "worker-1"};
    result_.wall = absl::Seconds(134);
  }
  void Ends(int child, int code) { result_.endings.push_back({.child = child, .code = code}); }

  TemporaryDirectory directory_;
  RunResult result_;
};

TEST_F(ReportTest, AFinishedRunShowsItsAccuracyModelAndTheNextCommand) {
  result_.test = TestRecord{.step = 100, .accuracy = 0.9312, .correct = 3725, .total = 4000};
  result_.model_path = "runs/test/001/model.safetensors";
  result_.directory = "runs/test/001";
  EXPECT_EQ(RenderResult(result_, "bin/ssd-run"),
            "done after 02:14: test accuracy 93.12% (3725 of 4000)\n"
            "  model       runs/test/001/model.safetensors\n"
            "  run folder  runs/test/001\n"
            "  next        bin/ssd-run --evaluate runs/test/001/model.safetensors");
  EXPECT_EQ(RenderFailure(result_), "");
}

TEST_F(ReportTest, AFailureShowsWhoWhyAndTheEndOfThatLog) {
  for (int line = 1; line <= 12; ++line)
    Append(directory_.File("worker-1.log"), "line " + std::to_string(line) + "\n");
  Append(directory_.File("worker-1.log"), "E1130 worker-1 main.cc:9] exit code=4 loss is nan at step 12\n");
  Ends(0, 200);
  Ends(2, 4);
  Ends(1, 0);
  result_.outcome = {.code = 4, .signal = 0, .first = ChildEnding{.child = 2, .code = 4}, .hung = false};
  EXPECT_EQ(RenderFailure(result_),
            "error: worker-1 failed: exit code 4, training diverged: loss is nan at step 12\n"
            "  the end of " +
                directory_.File("worker-1.log") +
                "\n"
                "  | line 4\n  | line 5\n  | line 6\n  | line 7\n  | line 8\n  | line 9\n"
                "  | line 10\n  | line 11\n  | line 12\n"
                "  | E1130 worker-1 main.cc:9] exit code=4 loss is nan at step 12\n"
                "  server-0: exit code 200, another process of the run was lost");
}

TEST_F(ReportTest, AnInterruptListsOnlyThoseThatEndedInAnotherWay) {
  Ends(0, 130);
  Ends(1, 6);
  Ends(2, 130);
  result_.outcome = {.code = 130, .signal = SIGINT, .first = std::nullopt, .hung = false};
  EXPECT_EQ(RenderFailure(result_),
            "error: stopped by SIGINT\n  worker-0: exit code 6, local storage full or not writable");
}

TEST_F(ReportTest, TheSummaryIsStrictJsonWhateverTheValues) {
  result_.command = {"ssd-run", "caf\xe9.yaml"};  // Latin-1, no UTF-8
  result_.overrides = {"sync.k=8"};
  result_.seed = 7;
  result_.train = TrainRecord{.step = 40, .loss = NAN};
  Ends(1, 0);
  const auto summary = nlohmann::json::parse(SummaryJson(result_));
  EXPECT_EQ(summary["name"], "test");
  EXPECT_EQ(summary["exit_code"], 0);
  EXPECT_EQ(summary["reason"], "done");
  EXPECT_EQ(summary["wall_seconds"], 134.0);
  EXPECT_EQ(summary["steps"], 40);
  EXPECT_EQ(summary["seed"], 7);
  EXPECT_TRUE(summary["train_loss"].is_null());
  EXPECT_TRUE(summary["accuracy"].is_null());
  EXPECT_TRUE(summary["model"].is_null());
  EXPECT_EQ(summary["overrides"], std::vector<std::string>{"sync.k=8"});
  EXPECT_EQ(summary["processes"][0]["name"], "worker-0");
  EXPECT_TRUE(summary["libraries"].contains("gRPC"));
}

}  // namespace
}  // namespace ssd
