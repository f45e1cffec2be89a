#include "common/io/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "nlohmann/json.hpp"
#include "tests/io/memory_disk.h"
#include "tests/io/safetensors_bytes.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

using Floats = std::vector<float>;
using Integers = std::vector<int64_t>;

// A convolution of (O, I, H, W) = (1, 2, 1, 3), a batch norm of one channel, and a bias of two.
ModelLayout SmallLayout() {
  ModelLayout layout;
  layout.parameters.Add("conv1.weight", {1, 2, 1, 3});
  layout.parameters.Add("bn1.weight", {1});
  layout.parameters.Add("bn1.bias", {1});
  layout.parameters.Add("fc.bias", {2});
  layout.buffers.Add("bn1.running_mean", {1});
  layout.buffers.Add("bn1.running_var", {1});
  return layout;
}

const Floats kSmallParameters = {10, 20, 11, 21, 12,
                                 22, 3,  4,  5,  6};  // the convolution's by (H, W, I): tens are I + 1
const Floats kSmallBuffers = {7, 8};

// What a file of the small model holds, for tests that change one thing.
struct SmallFile {
  Floats convolution = {10, 11, 12, 20, 21, 22};
  Floats one = {1};
  Floats two = {5, 6};
  Integers steps = {9};
  std::vector<SafetensorsSource> tensors = {
      {"conv1.weight", {1, 2, 1, 3}, std::span<const float>(convolution)},
      {"bn1.weight", {1}, std::span<const float>(one)},
      {"bn1.bias", {1}, std::span<const float>(one)},
      {"bn1.running_mean", {1}, std::span<const float>(one)},
      {"bn1.running_var", {1}, std::span<const float>(one)},
      {"bn1.num_batches_tracked", {}, std::span<const int64_t>(steps)},
      {"fc.bias", {2}, std::span<const float>(two)},
  };
};

absl::Status ReadSmall(const std::vector<SafetensorsSource>& tensors) {
  MemoryDisk disk;
  CHECK_OK(WriteSafetensors(disk, "model", tensors, {}));
  Floats parameters(10, -1);
  Floats buffers(2, -1);
  const absl::Status status =
      ReadModel(disk, "model", SmallLayout(), Matching::kStrict, parameters, buffers).status();
  if (!status.ok()) {
    EXPECT_THAT(parameters, Each(-1));
    EXPECT_THAT(buffers, Each(-1));
  }
  return status;
}

TEST(ModelFileTest, ConvolutionsChangeTheirAxesOnTheWayOut) {
  MemoryDisk disk;
  ASSERT_OK(WriteModel(disk, "model", SmallLayout(), kSmallParameters, kSmallBuffers, /*steps=*/9,
                       {{"by", "test"}}));
  const absl::StatusOr<Safetensors> file = ReadSafetensors(disk, "model");
  ASSERT_OK(file);
  EXPECT_THAT(file->metadata, ElementsAre(Pair("by", "test"), Pair("format", "pt")));

  const SafetensorsTensor& convolution = *Find(*file, "conv1.weight");
  EXPECT_THAT(convolution.shape, ElementsAre(1, 2, 1, 3));
  Floats values(6);
  ASSERT_OK(convolution.CopyTo(std::span<float>(values)));
  EXPECT_THAT(values, ElementsAre(10, 11, 12, 20, 21, 22));  // by (I, H, W)

  const SafetensorsTensor& counter = *Find(*file, "bn1.num_batches_tracked");
  EXPECT_THAT(counter.shape, ElementsAre());
  Integers steps(1);
  ASSERT_OK(counter.CopyTo(std::span<int64_t>(steps)));
  EXPECT_THAT(steps, ElementsAre(9));
}

TEST(ModelFileTest, ReadsWhatItWrote) {
  MemoryDisk disk;
  ASSERT_OK(WriteModel(disk, "model", SmallLayout(), kSmallParameters, kSmallBuffers, /*steps=*/9));
  Floats parameters(10);
  Floats buffers(2);
  ASSERT_OK(ReadModel(disk, "model", SmallLayout(), Matching::kStrict, parameters, buffers));
  EXPECT_EQ(parameters, kSmallParameters);
  EXPECT_EQ(buffers, kSmallBuffers);
}

TEST(ModelFileTest, NoMoreThanOneTensorIsHeldAtATime) {
  ModelLayout layout;
  for (int i = 0; i < 100; ++i) layout.parameters.Add(absl::StrCat("layer", i, ".weight"), {8, 4, 3, 3});
  MemoryDisk disk;
  ASSERT_OK(WriteModel(disk, "model", layout, Floats(layout.parameters.size()), {}, /*steps=*/0));
  const size_t header_bytes = disk.files["model"].size() - sizeof(float) * layout.parameters.size();
  EXPECT_LE(disk.largest_append, std::max(header_bytes, sizeof(float) * 8 * 4 * 3 * 3));
}

// The names in the header of `file`, in its order.
std::vector<std::string> NamesInOrder(const std::string& file) {
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
  std::vector<std::string> names;
  const auto header = nlohmann::ordered_json::parse(file.substr(sizeof header_bytes, header_bytes));
  for (const auto& member : header.items()) {
    if (member.key() != "__metadata__") names.push_back(member.key());
  }
  return names;
}

TEST(ModelFileTest, TheOrderIsThatOfPyTorchsStateDict) {
  std::ifstream stream(SSD_SOURCE_DIR "/tests/fixtures/resnet20.json");
  const nlohmann::json fixture = nlohmann::json::parse(stream);
  ModelLayout layout;
  for (const auto& tensor : fixture["parameters"]) {
    layout.parameters.Add(tensor["name"].get<std::string>(), tensor["shape"]);
  }
  for (const auto& tensor : fixture["buffers_after_forward"]) {
    const std::string name = tensor["name"];
    // In PyTorch the counter is a buffer, too.
    if (!absl::EndsWith(name, ".num_batches_tracked")) layout.buffers.Add(name, tensor["shape"]);
  }
  MemoryDisk disk;
  ASSERT_OK(
      WriteModel(disk, "model", layout, Floats(layout.parameters.size()), Floats(layout.buffers.size()), 0));
  EXPECT_EQ(NamesInOrder(disk.files["model"]), fixture["state_dict_names"].get<std::vector<std::string>>());
}

TEST(ModelFileTest, EachModulesBuffersFollowItsParameters) {
  ModelLayout layout;
  layout.parameters.Add("conv1.weight", {1, 1, 1, 1});
  layout.parameters.Add("bn1.weight", {1});
  layout.parameters.Add("bn1.bias", {1});
  layout.parameters.Add("fc.weight", {1, 1});
  layout.buffers.Add("bn1.running_mean", {1});
  layout.buffers.Add("bn1.running_var", {1});
  EXPECT_THAT(StateDictNames(layout),
              ElementsAre("conv1.weight", "bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var",
                          "bn1.num_batches_tracked", "fc.weight"));
}

TEST(ModelFileTest, ABatchNormWithoutParametersHasItsBuffersInTheFile) {
  ModelLayout layout;
  layout.buffers.Add("bn.running_mean", {1});
  layout.buffers.Add("bn.running_var", {1});
  MemoryDisk disk;
  ASSERT_OK(WriteModel(disk, "model", layout, {}, kSmallBuffers, /*steps=*/0));
  EXPECT_THAT(NamesInOrder(disk.files["model"]),
              ElementsAre("bn.running_mean", "bn.running_var", "bn.num_batches_tracked"));
}

TEST(ModelFileTest, TheCounterMayBeMissingOrHaveOneDimension) {
  SmallFile file;
  EXPECT_OK(ReadSmall(file.tensors));
  file.tensors[5].shape = {1};
  EXPECT_OK(ReadSmall(file.tensors));
  file.tensors.erase(file.tensors.begin() + 5);
  EXPECT_OK(ReadSmall(file.tensors));
}

TEST(ModelFileTest, ACounterOfAnotherTypeOrShapeIsRefused) {
  SmallFile file;
  file.tensors[5].values = std::span<const float>(file.one);
  EXPECT_THAT(ReadSmall(file.tensors),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("\"bn1.num_batches_tracked\" is F32 of shape [], want I64 of shape []")));
  file.tensors[5] = {"bn1.num_batches_tracked", {1, 1}, std::span<const int64_t>(file.steps)};
  EXPECT_THAT(ReadSmall(file.tensors), StatusIs(absl::StatusCode::kInvalidArgument,
                                                HasSubstr("is I64 of shape [1, 1], want I64 of shape []")));
}

TEST(ModelFileTest, AnotherModelIsRefusedWithEveryDifference) {
  SmallFile file;
  file.tensors[0].shape = {1, 1, 2, 3};
  file.tensors[1].name = "bn2.weight";
  file.tensors[3] = {"bn1.running_mean", {1}, std::span<const int64_t>(file.steps)};
  file.tensors[5].name = "bn2.num_batches_tracked";
  EXPECT_THAT(
      ReadSmall(file.tensors),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(HasSubstr("model: "),
                HasSubstr("\"conv1.weight\" is F32 of shape [1, 1, 2, 3], want F32 of shape [1, 2, 1, 3]"),
                HasSubstr("missing \"bn1.weight\""), HasSubstr("unexpected \"bn2.weight\", F32 of shape [1]"),
                HasSubstr("\"bn1.running_mean\" is I64 of shape [1], want F32 of shape [1]"),
                HasSubstr("unexpected \"bn2.num_batches_tracked\", I64 of shape []"),
                Not(HasSubstr("fc.bias")))));
}

TEST(ModelFileTest, MoreUnexpectedTensorsThanAnyModelHasAreCounted) {
  SmallFile file;
  for (int i = 0; i < 2500; ++i)
    file.tensors.push_back({absl::StrCat("x", i), {0}, std::span<const float>()});
  EXPECT_THAT(ReadSmall(file.tensors),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("; 500 more unexpected ones")));
}

// Reads what fits of the small file into a model whose values are all -1.
struct PartialRead {
  explicit PartialRead(const std::vector<SafetensorsSource>& tensors) {
    MemoryDisk disk;
    CHECK_OK(WriteSafetensors(disk, "model", tensors, {}));
    report = ReadModel(disk, "model", SmallLayout(), Matching::kPartial, parameters, buffers);
    compared = CompareModel(disk, "model", SmallLayout(), Matching::kPartial);
  }

  Floats parameters = Floats(10, -1);
  Floats buffers = Floats(2, -1);
  absl::StatusOr<MatchReport> report;
  absl::StatusOr<MatchReport> compared;
};

TEST(ModelFileTest, APartialReadTakesWhatFitsAndLeavesTheRest) {
  SmallFile file;
  file.tensors[1].name = "bn2.weight";
  file.tensors[6].shape = {2, 1};
  const PartialRead read(file.tensors);
  ASSERT_OK(read.report);
  EXPECT_THAT(read.parameters, ElementsAre(10, 20, 11, 21, 12, 22, -1, 1, -1, -1));
  EXPECT_THAT(read.buffers, ElementsAre(1, 1));
  EXPECT_EQ(read.report->Summary(),
            "4 of 6 tensors fit; 1 of another shape or type, 1 missing, 1 unexpected");
  EXPECT_THAT(
      read.report->Differences(/*max_listed=*/10),
      ElementsAre("of another shape or type: \"fc.bias\" is F32 of shape [2, 1], want F32 of shape [2]",
                  "missing: \"bn1.weight\"", "unexpected: \"bn2.weight\", F32 of shape [1]"));
  ASSERT_OK(read.compared);
  EXPECT_EQ(read.compared->Summary(), read.report->Summary());
}

TEST(ModelFileTest, AnExactMatchHasNoDifferences) {
  const PartialRead read(SmallFile().tensors);
  ASSERT_OK(read.report);
  EXPECT_TRUE(read.report->exact());
  EXPECT_THAT(read.report->Differences(/*max_listed=*/10), ElementsAre());
}

TEST(ModelFileTest, LongListsOfDifferencesAreCut) {
  SmallFile file;
  for (int i = 0; i < 2500; ++i)
    file.tensors.push_back({absl::StrCat("x", i), {0}, std::span<const float>()});
  file.tensors.erase(file.tensors.begin(), file.tensors.begin() + 3);
  const PartialRead read(file.tensors);
  ASSERT_OK(read.report);
  EXPECT_THAT(read.report->Differences(/*max_listed=*/2),
              ElementsAre("missing: \"conv1.weight\", \"bn1.weight\" and 1 more",
                          "unexpected: \"x0\", F32 of shape [0]; \"x1\", F32 of shape [0] and 2498 more"));
}

TEST(ModelFileTest, AFileOfWhichNothingFitsIsNoStart) {
  SmallFile file;
  for (SafetensorsSource& tensor : file.tensors) tensor.name = "module." + tensor.name;
  const PartialRead read(file.tensors);
  EXPECT_THAT(read.report.status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("model: no tensor fits this model; missing: \"conv1.weight\", "),
                             HasSubstr("; unexpected: \"module.bn1.bias\", F32 of shape [1]"))));
  EXPECT_EQ(read.compared.status(), read.report.status());
  EXPECT_THAT(read.parameters, Each(-1));
}

TEST(ModelFileTest, ValuesOfAnotherTypeAreAMisfit) {
  SmallFile file;
  const Integers two = {1, 2};
  file.tensors[6].values = std::span<const int64_t>(two);
  const PartialRead read(file.tensors);
  ASSERT_OK(read.report);
  EXPECT_THAT(read.report->misfits, ElementsAre("\"fc.bias\" is I64 of shape [2], want F32 of shape [2]"));
}

TEST(ModelFileTest, ExitCodesTellContentFromAbsence) {
  MemoryDisk disk;
  const absl::Status missing = CompareModel(disk, "model", SmallLayout(), Matching::kStrict).status();
  EXPECT_EQ(ModelFileExitCode(missing), 2);
  disk.files["model"] = "short";
  const absl::Status corrupt = CompareModel(disk, "model", SmallLayout(), Matching::kStrict).status();
  EXPECT_EQ(ModelFileExitCode(corrupt), 5);
  EXPECT_EQ(ModelFileExitCode(absl::InvalidArgumentError("another model")), 5);
  EXPECT_EQ(ModelFileExitCode(absl::PermissionDeniedError("")), 6);
  EXPECT_EQ(ModelFileExitCode(absl::OkStatus()), 0);
}

TEST(ModelFileTest, ACorruptFileIsDataLossAndChangesNothing) {
  MemoryDisk disk;
  ASSERT_OK(WriteModel(disk, "model", SmallLayout(), kSmallParameters, kSmallBuffers, /*steps=*/9));
  disk.files["model"].pop_back();
  Floats parameters(10, -1);
  Floats buffers(2, -1);
  EXPECT_THAT(ReadModel(disk, "model", SmallLayout(), Matching::kStrict, parameters, buffers),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("model: ")));
  EXPECT_THAT(parameters, Each(-1));
  EXPECT_THAT(buffers, Each(-1));
}

}  // namespace
}  // namespace ssd
