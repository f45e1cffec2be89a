#include "common/metrics/report_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ssd {
namespace {

using Json = nlohmann::ordered_json;

TEST(ReportFieldsTest, MeansAreOverSamplesWallTimeAndSteps) {
  v1::Report sum;  // of two workers, 5 steps each in 10 s
  sum.set_steps(5);
  sum.set_samples(100);
  sum.set_loss_sum(150);
  sum.set_correct(25);
  sum.set_seconds(20);
  sum.set_data_seconds(1);
  sum.set_compute_seconds(10);
  sum.set_local_update_seconds(2);
  sum.set_push_seconds(3);
  sum.set_wait_seconds(4);
  const Json want = {
      {"loss", 1.5},
      {"accuracy", 0.25},
      {"samples_per_second", 10.0},
      {"wait_fraction", 0.2},
      {"time", {{"data", 0.1}, {"compute", 1.0}, {"local_update", 0.2}, {"push", 0.3}, {"wait", 0.4}}}};
  EXPECT_EQ(ReportFields(sum, /*workers=*/2), want);
}

TEST(ReportFieldsTest, WhatIsNoNumberIsNull) {
  v1::Report sum;
  sum.set_samples(1);
  sum.set_loss_sum(NAN);
  EXPECT_EQ(ReportFields(sum, 1)["loss"], nullptr);
  EXPECT_EQ(ReportFields(sum, 1)["samples_per_second"], 0.0);
  EXPECT_EQ(FiniteOrNull(INFINITY), nullptr);
  EXPECT_EQ(FiniteOrNull(2), 2.0);
}

}  // namespace
}  // namespace ssd
