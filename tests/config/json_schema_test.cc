#include "common/config/json_schema.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/strings/str_replace.h"
#include "common/config/schema.h"
#include "common/io/disk.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kFile[] = SSD_SOURCE_DIR "/deploy/experiments/experiment.schema.json";

// The schema of the option or section at a path such as "/optimizer/lr".
json At(const std::string& path) {
  const json schema = json::parse(ExperimentJsonSchema());
  std::string pointer = path;
  for (size_t slash = 0; (slash = pointer.find('/', slash)) != std::string::npos; slash += 12) {
    pointer.replace(slash, 1, "/properties/");
  }
  return schema.at(json::json_pointer(pointer));
}

TEST(JsonSchemaTest, EveryOptionHasItsDefaultAndItsMeaning) {
  for (const Option& option : Options()) {
    const json schema = At("/" + absl::StrReplaceAll(option.path, {{".", "/"}}));
    EXPECT_TRUE(schema.contains("default")) << option.path;
    EXPECT_THAT(schema.at("description").get<std::string>(), HasSubstr(option.rules().doc())) << option.path;
  }
}

TEST(JsonSchemaTest, NoSectionTakesOtherKeysAndEachMayBeEmpty) {
  for (const std::string section : {"", "/optimizer", "/optimizer/schedule", "/sync", "/sync/local"}) {
    EXPECT_EQ(At(section).at("additionalProperties"), false) << section;
    EXPECT_EQ(At(section).at("type"), json({"object", "null"})) << section;
  }
}

TEST(JsonSchemaTest, NumbersHaveTheirRanges) {
  const json rate = At("/optimizer/lr");
  EXPECT_EQ(rate.at("exclusiveMinimum"), 0);
  EXPECT_EQ(rate.at("maximum"), 1000);
  EXPECT_EQ(rate.at("default"), 0.1);
  EXPECT_EQ(At("/optimizer/momentum").at("minimum"), 0);
  EXPECT_EQ(At("/optimizer/momentum").at("maximum"), 0.9999);
  EXPECT_EQ(At("/sync/k").at("type"), "integer");
  EXPECT_EQ(At("/seed").at("maximum"), 18446744073709551615u);
  EXPECT_EQ(At("/server/block_size").at("multipleOf"), 4);
}

TEST(JsonSchemaTest, ChoicesAreListedWithoutTheUnsetOne) {
  EXPECT_EQ(At("/sync/policy").at("enum"), json({"ssgd", "ssd_sgd"}));
}

TEST(JsonSchemaTest, AnOptionWithoutEffectIsRefusedBesideTheOptionThatTakesIt) {
  const json needs = At("/sync").at("allOf").at(0);
  EXPECT_EQ(needs.at("if"), json::parse(R"({"properties": {"policy": {"enum": ["ssd_sgd"]}}})"));
  EXPECT_EQ(needs.at("else").at("properties").at("k"), false);
  EXPECT_EQ(needs.at("else").at("properties").at("local").at("properties").at("alpha"), false);
}

TEST(JsonSchemaTest, ANeedThatTheDefaultDoesNotMeetHasToBeWritten) {
  EXPECT_EQ(At("/optimizer/schedule").at("allOf").at(0), json::parse(R"(
      {"if": {"required": ["kind"], "properties": {"kind": {"enum": ["step"]}}},
       "else": {"properties": {"milestones": false, "gamma": false}}})"));
}

// With SSD_UPDATE_DOCS=1 in the environment, this test writes the file instead of comparing it.
TEST(JsonSchemaTest, TheFileBesideTheExperimentsIsTheSchema) {
  if (std::getenv("SSD_UPDATE_DOCS") != nullptr) {
    ASSERT_OK(Disk::Real().WriteWhole(kFile, ExperimentJsonSchema()));
    return;
  }
  const absl::StatusOr<std::string> file = Disk::Real().ReadFile(kFile);
  ASSERT_OK(file);
  EXPECT_EQ(*file, ExperimentJsonSchema())
      << "the schema has changed: run config_test with SSD_UPDATE_DOCS=1, and commit the file";
}

}  // namespace
}  // namespace ssd
