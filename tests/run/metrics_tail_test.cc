#include "deploy/run/metrics_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/run/temporary_directory.h"

namespace ssd {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class MetricsTailTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("metrics.jsonl");
  MetricsTail tail_{path_};
};

TEST_F(MetricsTailTest, AMissingFileHasNoRecords) { EXPECT_THAT(tail_.Poll(), IsEmpty()); }

TEST_F(MetricsTailTest, EachKindOfLineIsRead) {
  Append(path_,
         "{\"ts\":\"2026-11-30T15:04:05.123+00:00\",\"split\":\"start\",\"steps\":1560,\"steps_per_epoch\":"
         "390.625,"
         "\"samples_per_epoch\":50000,\"global_batch\":128,\"workers\":4,\"parameters\":272474}\n"
         "{\"split\":\"train\",\"step\":20,\"epoch\":0.05,\"loss\":2.1,\"accuracy\":0.21,\"lr\":0.1,"
         "\"samples\":2560,"
         "\"samples_per_second\":301.2,\"wait_fraction\":0.03,\"time\":{\"data\":0.001}}\n"
         "{\"split\":\"test\",\"step\":391,\"epoch\":1,\"loss\":1.2,\"accuracy\":0.56,\"correct\":5600,"
         "\"total\":10000}\n");
  const std::vector<MetricsRecord> records = tail_.Poll();
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_EQ(std::get<StartRecord>(records[0]).steps, 1560);
  EXPECT_EQ(std::get<StartRecord>(records[0]).steps_per_epoch, 390.625);
  EXPECT_EQ(std::get<TrainRecord>(records[1]).samples_per_second, 301.2);
  EXPECT_EQ(std::get<TrainRecord>(records[1]).wait_fraction, 0.03);
  EXPECT_EQ(std::get<TestRecord>(records[2]).correct, 5600);
  EXPECT_THAT(tail_.Poll(), IsEmpty());
}

TEST_F(MetricsTailTest, APartialLineWaitsForItsRest) {
  Append(path_, "{\"split\":\"train\",\"st");
  EXPECT_THAT(tail_.Poll(), IsEmpty());
  Append(path_, "ep\":40}");
  EXPECT_THAT(tail_.Poll(), IsEmpty());
  Append(path_, "\n{\"split\":\"train\",\"step\":60}\n{");
  const std::vector<MetricsRecord> records = tail_.Poll();
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(std::get<TrainRecord>(records[0]).step, 40);
  EXPECT_EQ(std::get<TrainRecord>(records[1]).step, 60);
}

TEST_F(MetricsTailTest, LinesOfOtherKindsArePassedOver) {
  Append(path_, "not json\n\n[]\n{\"split\":7}\n{\"split\":\"later\"}\n{\"split\":\"train\",\"step\":1}\n");
  EXPECT_THAT(tail_.Poll(), SizeIs(1));
}

TEST_F(MetricsTailTest, ANullNumberIsNotANumber) {
  Append(path_, "{\"split\":\"train\",\"step\":1,\"loss\":null}\n");
  const std::vector<MetricsRecord> records = tail_.Poll();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_TRUE(std::isnan(std::get<TrainRecord>(records[0]).loss));
}

TEST_F(MetricsTailTest, ALineLongerThanTheReadingPortionIsWhole) {
  Append(path_, "{\"split\":\"train\",\"step\":7,\"note\":\"" + std::string(100'000, 'x') + "\"}\n");
  const std::vector<MetricsRecord> records = tail_.Poll();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(std::get<TrainRecord>(records[0]).step, 7);
}

}  // namespace
}  // namespace ssd
