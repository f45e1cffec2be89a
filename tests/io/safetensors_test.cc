#include "common/io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/io/memory_disk.h"
#include "tests/io/safetensors_bytes.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::IsOk;
using ::ssd::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using Floats = std::vector<float>;
using Integers = std::vector<int64_t>;

TEST(SafetensorsTest, WritesTheFormatByteByByte) {
  MemoryDisk disk;
  const Floats bias = {1.0f, -2.5f};
  const Integers steps = {7};
  const std::vector<SafetensorsSource> tensors = {{"fc.bias", {2}, std::span<const float>(bias)},
                                                  {"steps", {}, std::span<const int64_t>(steps)}};
  ASSERT_OK(WriteSafetensors(disk, "model", tensors, {{"format", "pt"}}));
  const std::string header =
      "{\"__metadata__\":{\"format\":\"pt\"},"
      "\"fc.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]},"
      "\"steps\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}}    ";
  ASSERT_EQ(header.size(), 152u);
  EXPECT_EQ(disk.files["model"], std::string("\x98\0\0\0\0\0\0\0", 8) + header +
                                     std::string("\x07\0\0\0\0\0\0\0"  // 7
                                                 "\x00\x00\x80\x3f"    // 1.0
                                                 "\x00\x00\x20\xc0",
                                                 16));  // -2.5
}

TEST(SafetensorsTest, ReadsWhatItWrote) {
  MemoryDisk disk;
  const Floats weights = {1, 2, 3, 4, 5, 6};
  const Integers steps = {-1, 1};
  const std::vector<SafetensorsSource> tensors = {
      {"w", {2, 3}, std::span<const float>(weights)},
      {"none", {0, 4}, std::span<const float>()},
      {"made", {6}, [&] { return std::span<const float>(weights); }},
      {"steps", {2}, std::span<const int64_t>(steps)}};
  ASSERT_OK(WriteSafetensors(disk, "model", tensors, {{"a \"quoted\"\n", "größe"}, {"", ""}}));

  const absl::StatusOr<Safetensors> file = ReadSafetensors(disk, "model");
  ASSERT_OK(file);
  EXPECT_THAT(file->metadata, ElementsAre(Pair("", ""), Pair("a \"quoted\"\n", "größe")));
  ASSERT_EQ(file->tensors.size(), 4u);
  const SafetensorsTensor& read = *Find(*file, "w");
  EXPECT_EQ(read.type, SafetensorsType::kF32);
  EXPECT_THAT(read.shape, ElementsAre(2, 3));
  Floats floats(6);
  EXPECT_OK(read.CopyTo(std::span<float>(floats)));
  EXPECT_EQ(floats, weights);
  EXPECT_OK(Find(*file, "made")->CopyTo(std::span<float>(floats)));
  EXPECT_EQ(floats, weights);
  EXPECT_OK(Find(*file, "none")->CopyTo(std::span<float>()));
  Integers integers(2);
  EXPECT_OK(Find(*file, "steps")->CopyTo(std::span<int64_t>(integers)));
  EXPECT_EQ(integers, steps);
  EXPECT_EQ(Find(*file, "v"), nullptr);
}

TEST(SafetensorsTest, CopyRefusesAnotherTypeOrSize) {
  const std::string bytes = FileOfEntry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 8);
  const absl::StatusOr<Safetensors> file = ParseSafetensors(bytes, "m");
  ASSERT_OK(file);
  Floats floats(3);
  EXPECT_THAT(
      file->tensors[0].CopyTo(std::span<float>(floats)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("F32 of shape [2], want 3 values of F32")));
  Integers integers(1);
  EXPECT_THAT(
      file->tensors[0].CopyTo(std::span<int64_t>(integers)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("F32 of shape [2], want 1 values of I64")));
}

TEST(SafetensorsTest, ReadsUnusualFilesThatAreWellFormed) {
  EXPECT_THAT(ParseSafetensors(FileOf("{}", 0), "m"), IsOk());
  EXPECT_THAT(ParseSafetensors(FileOf(R"({"__metadata__":{}})", 0), "m"), IsOk());
  EXPECT_THAT(ParseSafetensors(FileOf("{\n\t\"__metadata__\": {\"k\": \"v\"}\r\n}   ", 0), "m"), IsOk());
  EXPECT_THAT(ParseSafetensors(FileOfEntry(R"({"data_offsets":[0,0],"shape":[5,0],"dtype":"BF16"})", 0), "m"),
              IsOk());
  EXPECT_THAT(ParseSafetensors(FileOfEntry(R"({"data_offsets":[0,1],"shape":[],"dtype":"BOOL"})", 1), "m"),
              IsOk());
}

TEST(SafetensorsTest, TensorsComeInTheOrderOfTheirValues) {
  const std::string bytes = FileOf(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
                                   R"("none":{"dtype":"U8","shape":[0],"data_offsets":[1,1]},)"
                                   R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                                   2);
  const absl::StatusOr<Safetensors> file = ParseSafetensors(bytes, "m");
  ASSERT_OK(file);
  ASSERT_EQ(file->tensors.size(), 3u);
  EXPECT_EQ(file->tensors[0].name, "a");
  EXPECT_EQ(file->tensors[1].name, "none");
  EXPECT_EQ(file->tensors[2].name, "b");
}

TEST(SafetensorsTest, EveryCutFileIsRefused) {
  const std::string whole = FileOfEntry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 8);
  ASSERT_OK(ParseSafetensors(whole, "m"));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(ParseSafetensors(whole.substr(0, size), "m"),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("m: ")))
        << size;
  }
}

TEST(SafetensorsTest, NoChangedByteMakesATensorLeaveTheFile) {
  const std::string whole =
      FileOf(R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
             R"("b":{"dtype":"I16","shape":[],"data_offsets":[8,10]}})",
             10);
  ASSERT_OK(ParseSafetensors(whole, "m"));
  for (size_t at = 0; at < whole.size() - 10; ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = whole;
      changed[at] = static_cast<char>(byte);
      const absl::StatusOr<Safetensors> file = ParseSafetensors(changed, "m");
      if (!file.ok()) {
        ASSERT_EQ(file.status().code(), absl::StatusCode::kDataLoss);
        continue;
      }
      size_t covered = 0;
      for (const SafetensorsTensor& tensor : file->tensors) {
        ASSERT_GE(tensor.bytes.data(), changed.data() + 8);
        ASSERT_LE(tensor.bytes.data() + tensor.bytes.size(), changed.data() + changed.size());
        covered += tensor.bytes.size();
      }
      ASSERT_EQ(covered, 10u) << "byte " << at << " = " << byte;
    }
  }
}

TEST(SafetensorsTest, ReadsAFileOfThePythonPackage) {
  const absl::StatusOr<Safetensors> file =
      ReadSafetensors(Disk::Real(), SSD_SOURCE_DIR "/tests/fixtures/python.safetensors");
  ASSERT_OK(file);
  EXPECT_THAT(file->metadata,
              UnorderedElementsAre(Pair("made by", "safetensors in Python"), Pair("größe", "\t\"重み\"")));
  std::vector<std::string> seen;
  for (const SafetensorsTensor& tensor : file->tensors) {
    seen.push_back(absl::StrCat(tensor.name, " ", DescribeTensor(tensor.type, tensor.shape)));
    for (size_t i = 0; i < tensor.bytes.size(); ++i) {
      EXPECT_EQ(tensor.bytes[i], tensor.type == SafetensorsType::kBool ? 1 : i + 1)
          << tensor.name << " " << i;
    }
  }
  EXPECT_THAT(seen, UnorderedElementsAre("float64 F64 of shape [3, 1]", "float32 F32 of shape [3, 1]",
                                         "float16 F16 of shape [3, 1]", "bfloat16 BF16 of shape [3, 1]",
                                         "int64 I64 of shape [3, 1]", "int32 I32 of shape [3, 1]",
                                         "int16 I16 of shape [3, 1]", "int8 I8 of shape [3, 1]",
                                         "uint8 U8 of shape [3, 1]", "bool BOOL of shape [3, 1]",
                                         "scalar I64 of shape []", "counter I64 of shape [1]",
                                         "empty F32 of shape [0]", "größe/重み F32 of shape [2]"));
}

TEST(SafetensorsTest, AFileThatIsNotThereIsNotFound) {
  MemoryDisk disk;
  EXPECT_THAT(ReadSafetensors(disk, "model"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("model")));
}

TEST(SafetensorsTest, WritesAsideFlushesRenamesAndFlushesTheDirectory) {
  MemoryDisk disk;
  ASSERT_OK(WriteSafetensors(disk, "run/model", {}, {}));
  EXPECT_THAT(disk.events, ElementsAre("create run/model.partial", "sync run/model.partial",
                                       "rename run/model.partial run/model", "sync directory run"));
}

TEST(SafetensorsTest, AFullDiskLeavesTheOldFile) {
  const Floats weights = {1, 2};
  const std::vector<SafetensorsSource> tensors = {{"w", {2}, std::span<const float>(weights)}};
  MemoryDisk whole;
  ASSERT_OK(WriteSafetensors(whole, "model", tensors, {}));
  for (size_t room = 0; room < whole.files["model"].size(); ++room) {
    MemoryDisk disk;
    disk.files["model"] = "old";
    disk.bytes_until_full = static_cast<int64_t>(room);
    EXPECT_THAT(WriteSafetensors(disk, "model", tensors, {}),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("model")));
    EXPECT_THAT(disk.files, ElementsAre(Pair("model", "old"))) << room;
  }
}

TEST(SafetensorsTest, RefusesTensorsThatAFileCannotHold) {
  MemoryDisk disk;
  const Floats two = {1, 2};
  const std::span<const float> values(two);
  const auto write = [&](const std::vector<SafetensorsSource>& tensors,
                         const SafetensorsMetadata& metadata = {}) {
    return WriteSafetensors(disk, "model", tensors, metadata);
  };
  const auto invalid = [](const char* message) {
    return StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("model: "), HasSubstr(message)));
  };
  EXPECT_THAT(write({{"w", {2}, values}, {"w", {2}, values}}), invalid("tensor \"w\": the name is taken"));
  EXPECT_THAT(write({{"__metadata__", {2}, values}}), invalid("the name is taken"));
  EXPECT_THAT(write({{"\xff", {2}, values}}), invalid("\"\\xff\" is not UTF-8"));
  EXPECT_THAT(write({}, {{"k", "\xff"}}), invalid("is not UTF-8"));
  EXPECT_THAT(write({{"w", {3}, values}}),
              invalid("tensor \"w\": got 8 bytes of values, F32 of shape [3] has 12"));
  EXPECT_THAT(write({{"w", {0, -1}, values}}), invalid("cannot write F32 of shape [0, -1]"));
  EXPECT_THAT(write({{"w", {int64_t{1} << 62, 2}, values}}), invalid("cannot write F32"));
  EXPECT_THAT(disk.files, IsEmpty());
}

}  // namespace
}  // namespace ssd
