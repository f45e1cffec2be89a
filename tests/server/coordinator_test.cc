#include "server/coordinator.h"

#include <limits>
#include <vector>

namespace ssd {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

constexpr WorkerId kAlice(0), kBob(1);
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class Recorder : public RunObserver {
 public:
  absl::Status OnReport(const v1::Report& sum, int workers, int64_t lead) override {
    reports.push_back(sum);
    leads.push_back(lead);
    EXPECT_EQ(workers, num_workers);
    return status;
  }
  absl::Status OnEvaluation(const v1::Evaluated& sum) override {
    evaluations.push_back(sum);
    return status;
  }

  int num_workers = 2;
  std::vector<v1::Report> reports;
  std::vector<int64_t> leads;
  std::vector<v1::Evaluated> evaluations;
  absl::Status status;
};

v1::Report ReportOf(uint64_t step, double loss, uint64_t samples, double seconds) {
  v1::Report report;
  report.set_step(step);
  report.set_steps(20);
  report.set_loss_sum(loss);
  report.set_correct(samples / 2);
  report.set_samples(samples);
  report.set_seconds(seconds);
  report.set_data_seconds(seconds / 2);
  report.set_compute_seconds(seconds / 4);
  report.set_local_update_seconds(seconds / 8);
  report.set_push_seconds(seconds / 16);
  report.set_wait_seconds(seconds / 32);
  report.set_bytes_pushed(samples * 8);
  report.set_bytes_pulled(samples * 2);
  return report;
}

v1::Evaluated EvaluatedOf(uint64_t version, double loss, uint64_t correct) {
  v1::Evaluated evaluated;
  evaluated.set_version(version);
  evaluated.set_loss_sum(loss);
  evaluated.set_correct(correct);
  evaluated.set_samples(10);
  return evaluated;
}

TEST(CoordinatorTest, ReportsOfAllWorkersAreAddedUp) {
  Recorder recorder;
  Coordinator coordinator(2, recorder);
  EXPECT_OK(coordinator.Add(kBob, ReportOf(20, 1.5, 8, 32), /*lead=*/0));
  EXPECT_EQ(recorder.reports.size(), 0u);
  EXPECT_OK(coordinator.Add(kAlice, ReportOf(20, 2, 4, 64), /*lead=*/0));
  ASSERT_EQ(recorder.reports.size(), 1u);
  EXPECT_EQ(recorder.reports[0].SerializeAsString(), [] {
    v1::Report sum = ReportOf(20, 3.5, 12, 96);
    return sum.SerializeAsString();
  }());
}

TEST(CoordinatorTest, SumsDoNotDependOnTheOrderOfArrival) {
  const std::vector<double> losses = {1e16, 1, -1e16};  // in another order their sum is 1 or 0
  std::vector<double> sums;
  for (const std::vector<int>& order : {std::vector<int>{0, 1, 2}, {2, 0, 1}, {1, 2, 0}}) {
    Recorder recorder;
    recorder.num_workers = 3;
    Coordinator coordinator(3, recorder);
    for (const int worker : order) {
      EXPECT_OK(coordinator.Add(WorkerId(worker), ReportOf(20, losses[worker], 1, 1), /*lead=*/0));
      EXPECT_OK(coordinator.Add(WorkerId(worker), EvaluatedOf(20, losses[worker], 1)));
    }
    sums.push_back(recorder.reports.at(0).loss_sum());
    EXPECT_EQ(recorder.evaluations.at(0).loss_sum(), sums.back());
  }
  EXPECT_THAT(sums, ::testing::Each((losses[0] + losses[1]) + losses[2]));
}

TEST(CoordinatorTest, TheLeadIsTheLargestOfAnIntervalsReports) {
  Recorder recorder;
  Coordinator coordinator(2, recorder);
  EXPECT_OK(coordinator.Add(kAlice, ReportOf(20, 1, 1, 1), /*lead=*/3));
  EXPECT_OK(coordinator.Add(kAlice, ReportOf(40, 1, 1, 1), /*lead=*/5));
  EXPECT_OK(coordinator.Add(kBob, ReportOf(20, 1, 1, 1), /*lead=*/2));
  EXPECT_OK(coordinator.Add(kBob, ReportOf(40, 1, 1, 1), /*lead=*/1));
  EXPECT_THAT(recorder.leads, ::testing::ElementsAre(3, 5));
}

TEST(CoordinatorTest, ReportsOfDifferentStepsDoNotMix) {
  Recorder recorder;
  Coordinator coordinator(2, recorder);
  EXPECT_OK(coordinator.Add(kAlice, ReportOf(20, 1, 1, 1), /*lead=*/0));
  EXPECT_OK(coordinator.Add(kAlice, ReportOf(40, 2, 1, 1), /*lead=*/0));
  EXPECT_OK(coordinator.Add(kBob, ReportOf(20, 4, 1, 1), /*lead=*/0));
  EXPECT_OK(coordinator.Add(kBob, ReportOf(40, 8, 1, 1), /*lead=*/0));
  ASSERT_EQ(recorder.reports.size(), 2u);
  EXPECT_EQ(recorder.reports[0].loss_sum(), 5);
  EXPECT_EQ(recorder.reports[1].loss_sum(), 10);
}

TEST(CoordinatorTest, EvaluationsAreAddedUp) {
  Recorder recorder;
  Coordinator coordinator(2, recorder);
  EXPECT_OK(coordinator.Add(kAlice, EvaluatedOf(7, 0.5, 6)));
  EXPECT_OK(coordinator.Add(kBob, EvaluatedOf(7, 1, 9)));
  ASSERT_EQ(recorder.evaluations.size(), 1u);
  EXPECT_EQ(recorder.evaluations[0].version(), 7u);
  EXPECT_EQ(recorder.evaluations[0].loss_sum(), 1.5);
  EXPECT_EQ(recorder.evaluations[0].correct(), 15u);
  EXPECT_EQ(recorder.evaluations[0].samples(), 20u);
}

TEST(CoordinatorTest, TheSameReportTwiceIsRefused) {
  Recorder recorder;
  Coordinator coordinator(2, recorder);
  EXPECT_OK(coordinator.Add(kAlice, ReportOf(20, 1, 1, 1), /*lead=*/0));
  EXPECT_THAT(coordinator.Add(kAlice, ReportOf(20, 1, 1, 1), /*lead=*/0),
              StatusIs(kInvalid, HasSubstr("worker 0")));
  EXPECT_OK(coordinator.Add(kAlice, EvaluatedOf(20, 1, 1)));
  EXPECT_THAT(coordinator.Add(kAlice, EvaluatedOf(20, 1, 1)), StatusIs(kInvalid, HasSubstr("before")));
}

TEST(CoordinatorTest, NumbersThatAreNotFiniteAreRefused) {
  Recorder recorder;
  Coordinator coordinator(2, recorder);
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(coordinator.Add(kAlice, ReportOf(20, nan, 1, 1), /*lead=*/0),
              StatusIs(kInvalid, HasSubstr("nan")));
  EXPECT_THAT(coordinator.Add(kAlice, ReportOf(20, 1, 1, infinity), /*lead=*/0),
              StatusIs(kInvalid, HasSubstr("inf")));
  EXPECT_THAT(coordinator.Add(kAlice, EvaluatedOf(20, -infinity, 1)), StatusIs(kInvalid, HasSubstr("inf")));
}

TEST(CoordinatorTest, SumsUnderWayAreBounded) {
  Recorder recorder;
  Coordinator coordinator(2, recorder);
  absl::Status status;
  uint64_t step = 0;
  while (status.ok() && step < 10'000)
    status = coordinator.Add(kAlice, ReportOf(++step, 1, 1, 1), /*lead=*/0);
  EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr("worker 0 reports 2049")));
  EXPECT_OK(coordinator.Add(kBob, ReportOf(1, 1, 1, 1), /*lead=*/0)) << "those under way can still complete";
}

TEST(CoordinatorTest, SumsThatWaitForOneWorkerAreNotTheOthersFault) {
  Recorder recorder;
  Coordinator coordinator(2, recorder);
  for (uint64_t step = 1; step <= 2048; ++step)
    EXPECT_OK(coordinator.Add(kBob, ReportOf(step, 1, 1, 1), /*lead=*/0));
  EXPECT_OK(coordinator.Add(kAlice, ReportOf(3000, 1, 1, 1), /*lead=*/0));
  EXPECT_THAT(coordinator.Add(kBob, ReportOf(2049, 1, 1, 1), /*lead=*/0),
              StatusIs(kInvalid, HasSubstr("worker 1 reports 2049")));
}

TEST(CoordinatorTest, WhatTheObserverAnswersIsPassedOn) {
  Recorder recorder;
  recorder.status = absl::ResourceExhaustedError("disk full");
  Coordinator coordinator(2, recorder);
  EXPECT_OK(coordinator.Add(kAlice, ReportOf(20, 1, 1, 1), /*lead=*/0));
  EXPECT_THAT(coordinator.Add(kBob, ReportOf(20, 1, 1, 1), /*lead=*/0),
              StatusIs(absl::StatusCode::kResourceExhausted, "disk full"));
}

TEST(CoordinatorTest, GenerationsRise) {
  Recorder recorder;
  Coordinator coordinator(2, recorder);
  EXPECT_EQ(coordinator.generation(), Generation(0));
  coordinator.StartGeneration();
  EXPECT_EQ(coordinator.generation(), Generation(1));
}

}  // namespace
}  // namespace ssd
