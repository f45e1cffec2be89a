#include "worker/data/cifar10.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "worker/data/channel_statistics.h"

namespace ssd {
namespace {

using ::ssd::testing::IsOkAndHolds;
using ::ssd::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kRecordBytes = 3073;
constexpr int64_t kFileBytes = 10'000 * kRecordBytes;

// A folder "data" of files in memory.
class MemoryDisk : public Disk {
 public:
  absl::StatusOr<std::string> ReadFile(const std::string& path) override {
    const auto file = files.find(path);
    if (file == files.end()) return absl::NotFoundError(path + ": cannot open: No such file or directory");
    return file->second;
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string&) override { return ReadOnly(); }
  absl::StatusOr<std::unique_ptr<WritableFile>> CreateNew(const std::string&) override { return ReadOnly(); }
  absl::Status MakeDirectories(const std::string&) override { return ReadOnly(); }
  absl::Status Rename(const std::string&, const std::string&) override { return ReadOnly(); }
  absl::Status Remove(const std::string&) override { return ReadOnly(); }
  absl::Status SyncDirectory(const std::string&) override { return ReadOnly(); }

  std::map<std::string, std::string> files;

 private:
  static absl::Status ReadOnly() { return absl::PermissionDeniedError("read only"); }
};

// All six files; file f (the test's is 6) and record i have label (f + i) mod 10 and black pixels.
MemoryDisk WholeDisk() {
  MemoryDisk disk;
  for (int file = 1; file <= 6; ++file) {
    std::string content(kFileBytes, '\0');
    for (int64_t i = 0; i < 10'000; ++i) content[i * kRecordBytes] = static_cast<char>((file + i) % 10);
    disk.files[file == 6 ? "data/test_batch.bin" : "data/data_batch_" + std::to_string(file) + ".bin"] =
        std::move(content);
  }
  return disk;
}

TEST(Cifar10Test, ReadsAllFilesInOrderAndTurnsPlanesIntoPixels) {
  MemoryDisk disk = WholeDisk();
  std::string& last = disk.files["data/data_batch_5.bin"];
  for (int64_t i = 0; i < 3072; ++i) {
    last[9'999 * kRecordBytes + 1 + i] = static_cast<char>(i / 1024 * 80 + i % 1024 % 91);
  }
  const absl::StatusOr<ImageData> data = LoadCifar10("data", disk);
  ASSERT_OK(data);
  ASSERT_EQ(data->train.size(), 50'000);
  ASSERT_EQ(data->test.size(), 10'000);
  for (int64_t i = 0; i < 50'000; ++i)
    ASSERT_EQ(data->train.labels[i], (1 + i / 10'000 + i % 10'000) % 10) << i;
  EXPECT_THAT(data->test.labels[0], 6);
  EXPECT_EQ(data->train.shape, (ImageShape{.height = 32, .width = 32, .channels = 3}));
  const std::span<const uint8_t> image = data->train.image(49'999);
  for (int64_t pixel = 0; pixel < 1024; ++pixel) {
    for (int64_t channel = 0; channel < 3; ++channel) {
      ASSERT_EQ(image[pixel * 3 + channel], channel * 80 + pixel % 91) << pixel << " " << channel;
    }
  }
}

TEST(Cifar10Test, NamesComeFromTheFileOrAreTheWellKnown) {
  MemoryDisk disk = WholeDisk();
  absl::StatusOr<ImageData> data = LoadCifar10("data", disk);
  ASSERT_OK(data);
  EXPECT_THAT(data->train.class_names, ElementsAre("airplane", "automobile", "bird", "cat", "deer", "dog",
                                                   "frog", "horse", "ship", "truck"));
  disk.files["data/batches.meta.txt"] = "a\r\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n";
  data = LoadCifar10("data", disk);
  ASSERT_OK(data);
  EXPECT_THAT(data->test.class_names, ElementsAre("a", "b", "c", "d", "e", "f", "g", "h", "i", "j"));
  disk.files["data/batches.meta.txt"] = "a\nb\n";
  EXPECT_THAT(LoadCifar10("data", disk),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("data/batches.meta.txt: got 2 class names, wanted 10")));
}

TEST(Cifar10Test, AMissingFileIsNamedWithTheCommandThatFetchesIt) {
  for (const char* name : {"data/data_batch_1.bin", "data/data_batch_5.bin", "data/test_batch.bin"}) {
    MemoryDisk disk = WholeDisk();
    disk.files.erase(name);
    EXPECT_THAT(LoadCifar10("data", disk),
                StatusIs(absl::StatusCode::kNotFound,
                         AllOf(HasSubstr(name), HasSubstr("deploy/data/fetch_cifar10.sh"))));
  }
  EXPECT_THAT(LoadCifar10("/no/such/folder", Disk::Real()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/folder/data_batch_1.bin")));
}

TEST(Cifar10Test, AFileOfTheWrongSizeIsNamedWithBothSizes) {
  MemoryDisk disk = WholeDisk();
  for (int64_t bytes : {int64_t{0}, kFileBytes - 1, kFileBytes + 1, kFileBytes - kRecordBytes}) {
    disk.files["data/data_batch_3.bin"].resize(bytes);
    EXPECT_THAT(
        LoadCifar10("data", disk),
        StatusIs(absl::StatusCode::kDataLoss, HasSubstr("data/data_batch_3.bin: has " +
                                                        std::to_string(bytes) + " bytes, wanted 30730000")));
  }
}

TEST(Cifar10Test, ALabelAboveNineIsNamedWithFileAndRecord) {
  for (int label : {10, 255}) {
    MemoryDisk disk = WholeDisk();
    disk.files["data/test_batch.bin"][1234 * kRecordBytes] = static_cast<char>(label);
    EXPECT_THAT(
        LoadCifar10("data", disk),
        StatusIs(absl::StatusCode::kDataLoss,
                 HasSubstr("data/test_batch.bin: record 1234 of 10000 has label " + std::to_string(label))));
  }
}

// Sets or, with null, unsets SSD_DATA_DIR for a test.
class ScopedDataDir {
 public:
  explicit ScopedDataDir(const char* value) {
    if (const char* old = std::getenv("SSD_DATA_DIR"); old != nullptr) old_ = old;
    Set(value);
  }
  ~ScopedDataDir() { Set(old_.has_value() ? old_->c_str() : nullptr); }

 private:
  static void Set(const char* value) {
    if (value == nullptr) {
      unsetenv("SSD_DATA_DIR");
    } else {
      setenv("SSD_DATA_DIR", value, /*overwrite=*/1);
    }
  }
  std::optional<std::string> old_;
};

TEST(ResolveDataPathTest, TheConfigurationOutranksTheEnvironment) {
  const ScopedDataDir environment("/from/environment");
  EXPECT_THAT(ResolveDataPath("/from/config"), IsOkAndHolds("/from/config"));
  EXPECT_THAT(ResolveDataPath(""), IsOkAndHolds("/from/environment"));
}

TEST(ResolveDataPathTest, SaysBothWaysWhereNeitherIsSet) {
  for (const char* value : {static_cast<const char*>(nullptr), ""}) {
    const ScopedDataDir environment(value);
    EXPECT_THAT(ResolveDataPath(""),
                StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("data.path"), HasSubstr("SSD_DATA_DIR"),
                                                            HasSubstr("fetch_cifar10.sh"))));
  }
}

TEST(Cifar10Test, TheWholeSetHasThePublishedCountsMeanAndStd) {
  const char* directory = std::getenv("SSD_DATA_DIR");
  if (directory == nullptr)
    GTEST_SKIP() << "SSD_DATA_DIR is not set; deploy/data/fetch_cifar10.sh fetches CIFAR-10";
  const absl::StatusOr<ImageData> data = LoadCifar10(directory, Disk::Real());
  ASSERT_OK(data);
  for (const auto& [set, per_class] : {std::pair{&data->train, 5000}, std::pair{&data->test, 1000}}) {
    EXPECT_EQ(set->size(), 10 * per_class);
    EXPECT_THAT(set->pixels, SizeIs(set->size() * 3072));
    std::vector<int> counts(10);
    for (int32_t label : set->labels) ++counts.at(label);
    EXPECT_THAT(counts, Each(per_class));
  }
  const ChannelStatistics statistics = ComputeChannelStatistics(data->train);
  for (int channel = 0; channel < 3; ++channel) {
    EXPECT_NEAR(statistics.mean[channel], data->train.mean[channel], 1e-4) << channel;
    EXPECT_NEAR(statistics.std[channel], data->train.std[channel], 1e-4) << channel;
  }
}

TEST(Cifar10Test, ALookAtTheFolderNamesTheFirstFileThatIsMissingOrShort) {
  const std::string folder = ::testing::TempDir() + "/cifar10_look";
  std::filesystem::remove_all(folder);
  EXPECT_THAT(CheckCifar10(folder),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(folder + "/data_batch_1.bin"), HasSubstr("fetch_cifar10.sh"))));
  std::filesystem::create_directories(folder);
  for (const char* name :
       {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"}) {
    const std::string path = folder + "/" + name + ".bin";
    std::ofstream(path).put(0);
    std::filesystem::resize_file(path, kFileBytes);  // a sparse file: it takes no space
  }
  EXPECT_OK(CheckCifar10(folder));
  std::filesystem::resize_file(folder + "/data_batch_4.bin", kFileBytes - 1);
  EXPECT_THAT(CheckCifar10(folder), StatusIs(absl::StatusCode::kDataLoss,
                                             AllOf(HasSubstr("data_batch_4.bin"), HasSubstr("30729999"))));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ssd
