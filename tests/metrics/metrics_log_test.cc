#include "common/metrics/metrics_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/metrics/scalar_tags.h"
#include "tests/io/memory_disk.h"
#include "tests/testing/manual_executor.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::ManualExecutor;
using ::ssd::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

MATCHER_P2(IsScalar, tag, value, "") { return arg.tag == tag && arg.value == value; }

const Json kTrain = {{"split", "train"}, {"step", 20}, {"loss", 0.5}, {"time", {{"wait", 0.25}}}};

class MetricsLogTest : public ::testing::Test {
 protected:
  MetricsLog Log(const std::string& lines, const std::string& events) {
    return MetricsLog(clock_, disk_, {.lines_path = lines, .event_directory = events, .source = {"host", 7}});
  }

  MemoryDisk disk_;
  ManualExecutor clock_;  // starts at 1000 s
  const std::string events_path_ = "run/tensorboard/server-0/events.out.tfevents.0000001000.host.7.0";
};

TEST_F(MetricsLogTest, ALineIsStrictJsonWithItsTimeBeforeIt) {
  MetricsLog log = Log("run/metrics.jsonl", "");
  EXPECT_THAT(disk_.files, IsEmpty());
  EXPECT_OK(log.Write(kTrain, 20));
  EXPECT_THAT(disk_.files, ElementsAre(Pair("run/metrics.jsonl", EndsWith("\n"))));
  const std::string& text = disk_.files["run/metrics.jsonl"];
  EXPECT_THAT(text, StartsWith("{\"ts\":\"19"));
  Json line = Json::parse(text);
  line.erase("ts");
  EXPECT_EQ(line, kTrain);
}

TEST_F(MetricsLogTest, TheNumbersOfALineAreAlsoAnEvent) {
  MetricsLog log = Log("run/metrics.jsonl", "run/tensorboard/server-0");
  EXPECT_OK(log.Write({{"split", "start"}, {"steps", 100}}, 0));
  const size_t header = disk_.files.at(events_path_).size();
  EXPECT_OK(log.Write(kTrain, 20));
  EXPECT_THAT(disk_.files, ElementsAre(Key("run/metrics.jsonl"), Key(events_path_)));
  const std::string event = disk_.files.at(events_path_).substr(header);
  EXPECT_THAT(event, HasSubstr("train/loss"));
  EXPECT_THAT(event, HasSubstr("time/wait"));
}

TEST_F(MetricsLogTest, ANumberThatIsNullOrHasNoTagIsNoScalar) {
  EXPECT_THAT(ScalarsOf(kTrain), ElementsAre(IsScalar("train/loss", 0.5), IsScalar("time/wait", 0.25)));
  EXPECT_THAT(ScalarsOf({{"split", "test"}, {"loss", nullptr}, {"accuracy", 1}, {"correct", 5}}),
              ElementsAre(IsScalar("eval/top1", 1.0)));
  EXPECT_THAT(ScalarsOf({{"split", "start"}, {"steps", 5}}), IsEmpty());
  EXPECT_THAT(ScalarsOf({{"loss", 5}}), IsEmpty());
}

TEST_F(MetricsLogTest, NoTwoNumbersShareATag) {
  std::set<std::string> tags;
  for (const ScalarTag& tag : ScalarTags()) EXPECT_TRUE(tags.insert(tag.tag).second) << tag.tag;
}

TEST_F(MetricsLogTest, MetricsOfAnotherRunAreNotWrittenOver) {
  disk_.files["run/metrics.jsonl"] = "precious";
  MetricsLog log = Log("run/metrics.jsonl", "");
  EXPECT_THAT(log.Write(kTrain, 20),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("run/metrics.jsonl")));
  EXPECT_EQ(disk_.files["run/metrics.jsonl"], "precious");
}

TEST_F(MetricsLogTest, AFullDiskIsAnErrorThatNamesTheFile) {
  MetricsLog log = Log("", "run/tensorboard/server-0");
  EXPECT_OK(log.Write(kTrain, 20));
  disk_.bytes_until_full = 0;
  EXPECT_THAT(log.Write(kTrain, 40), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(events_path_)));
}

}  // namespace
}  // namespace ssd
