#include "common/io/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/io/crc32c.h"
#include "tests/io/memory_disk.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::StartsWith;

constexpr char kFirst[] = "run/worker-0/events.out.tfevents.0000000001.host.42.0";
const EventSource kSource = {.host = "host", .pid = 42};
const absl::Time kNow = absl::FromUnixSeconds(1);

// What TensorFlow writes: the header at 1 s; then at 2 s, step 5, train/loss 0.5.
const std::string kHeader = absl::HexStringToBytes(
    "1800000000000000a37f4b2209000000000000f03f1a0d627261696e2e4576656e743a3286bf577a");
const std::string kLoss = absl::HexStringToBytes(
    "200000000000000029eda95009000000000000004010052a130a110a0a747261696e2f6c6f7373150000003f692b299c");

TEST(Crc32cTest, KnownValues) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(MaskedCrc32c(Crc32c("\x1a\x11"
                                "CRC test, one two")),
            0x5794d08au);
}

TEST(EventFileTest, TheBytesAreThoseThatTensorFlowWrites) {
  MemoryDisk disk;
  const auto file = EventFile::Create(disk, "run/worker-0", kSource, kNow);
  ASSERT_OK(file.status());
  EXPECT_EQ(disk.files[kFirst], kHeader);
  const std::vector<Scalar> loss = {{"train/loss", 0.5}};
  EXPECT_OK((*file)->Append(absl::FromUnixSeconds(2), 5, loss));
  EXPECT_EQ(disk.files[kFirst], kHeader + kLoss);
}

TEST(EventFileTest, ManyNumbersLongNamesAndLargeStepsAreOneEvent) {
  MemoryDisk disk;
  const auto file = EventFile::Create(disk, "run/worker-0", kSource, kNow);
  ASSERT_OK(file.status());
  const std::string name(130, 'x');  // its length takes two bytes
  const std::vector<Scalar> scalars = {{name, 1}, {"a", -std::numeric_limits<double>::infinity()}};
  EXPECT_OK((*file)->Append(absl::FromUnixSeconds(2), 300, scalars));
  const std::string first =
      absl::StrCat("\x0a\x8a\x01\x0a\x82\x01", name, absl::HexStringToBytes("150000803f"));
  const std::string second = absl::HexStringToBytes("0a080a016115000080ff");
  const std::string summary = first + second;
  EXPECT_THAT(disk.files[kFirst].substr(kHeader.size() + 12),
              StartsWith(absl::HexStringToBytes("09000000000000004010ac022a9701") + summary));
}

TEST(EventFileTest, FilesOfOneSecondAreNumberedAndNoneIsWrittenOver) {
  MemoryDisk disk;
  disk.files[kFirst] = "precious";
  ASSERT_OK(EventFile::Create(disk, "run/worker-0", kSource, kNow).status());
  EXPECT_EQ(disk.files[kFirst], "precious");
  EXPECT_THAT(disk.files,
              ElementsAre(Key(kFirst), Key("run/worker-0/events.out.tfevents.0000000001.host.42.1")));
  EXPECT_EQ(disk.events.front(), "make directories run/worker-0");
}

TEST(EventFileTest, AFullDiskIsAnErrorThatNamesTheFile) {
  MemoryDisk disk;
  disk.bytes_until_full = static_cast<int64_t>(kHeader.size());
  const auto file = EventFile::Create(disk, "run/worker-0", kSource, kNow);
  ASSERT_OK(file.status());
  const std::vector<Scalar> loss = {{"train/loss", 0.5}};
  EXPECT_THAT((*file)->Append(kNow, 1, loss),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(kFirst)));
  EXPECT_THAT(EventFile::Create(disk, "other", kSource, kNow).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("other/events.out.tfevents")));
}

TEST(EventFileTest, ThisProcessHasAHostAndANumber) {
  const EventSource source = EventSource::ThisProcess();
  EXPECT_THAT(source.host, AllOf(::testing::Not(""), ::testing::Not(HasSubstr("/"))));
  EXPECT_GT(source.pid, 0);
}

}  // namespace
}  // namespace ssd
