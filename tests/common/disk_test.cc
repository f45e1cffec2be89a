#include "common/io/disk.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace ssd {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

class DiskTest : public ::testing::Test {
 protected:
  DiskTest() {
    std::string pattern = ::testing::TempDir() + "/disk_test.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~DiskTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  bool Exists(const std::string& name) const { return std::filesystem::exists(Path(name)); }

  std::string folder_;
  Disk& disk_ = Disk::Real();
};

TEST_F(DiskTest, WhatIsWrittenIsRead) {
  const std::string content("a\0b\n\xff", 5);
  EXPECT_OK(disk_.WriteWhole(Path("file"), content));
  EXPECT_THAT(disk_.ReadFile(Path("file")), IsOkAndHolds(content));
  EXPECT_FALSE(Exists("file.partial"));
}

TEST_F(DiskTest, WriteWholeReplacesTheOldContent) {
  ASSERT_OK(disk_.WriteWhole(Path("file"), "a long first content"));
  ASSERT_OK(disk_.WriteWhole(Path("file"), "new"));
  EXPECT_THAT(disk_.ReadFile(Path("file")), IsOkAndHolds("new"));
}

TEST_F(DiskTest, AnErrorOfTheWriterKeepsTheOldContentAndLeavesNothingBeside) {
  ASSERT_OK(disk_.WriteWhole(Path("file"), "old"));
  const absl::Status status = disk_.WriteWhole(Path("file"), [](WritableFile& file) {
    EXPECT_OK(file.Append("half"));
    return absl::AbortedError("no more");
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted, "no more"));
  EXPECT_THAT(disk_.ReadFile(Path("file")), IsOkAndHolds("old"));
  EXPECT_FALSE(Exists("file.partial"));
}

TEST_F(DiskTest, AFullDiskIsNamedAndKeepsTheOldContent) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  ASSERT_OK(disk_.WriteWhole(Path("file"), "old"));
  std::filesystem::create_symlink("/dev/full", Path("file.partial"));
  EXPECT_THAT(disk_.WriteWhole(Path("file"), "new"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       ::testing::AllOf(HasSubstr("file.partial"), HasSubstr("No space left"))));
  EXPECT_THAT(disk_.ReadFile(Path("file")), IsOkAndHolds("old"));
  EXPECT_FALSE(std::filesystem::is_symlink(Path("file.partial")));
}

TEST_F(DiskTest, MissingFilesAndFoldersAreNotFound) {
  EXPECT_THAT(disk_.ReadFile(Path("none")), StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(disk_.WriteWhole(Path("no/file"), "x"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("cannot create")));
  EXPECT_THAT(disk_.Remove(Path("none")), StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST_F(DiskTest, AFolderIsNoFile) {
  EXPECT_THAT(disk_.ReadFile(folder_), StatusIs(absl::StatusCode::kUnknown, HasSubstr("cannot read")));
  ASSERT_EQ(::mkdir(Path("taken").c_str(), 0755), 0);
  EXPECT_FALSE(disk_.WriteWhole(Path("taken"), "x").ok());
  EXPECT_FALSE(Exists("taken.partial"));
}

TEST_F(DiskTest, ANewFileIsNeverAnOldOne) {
  ASSERT_OK(disk_.WriteWhole(Path("file"), "old"));
  EXPECT_THAT(disk_.CreateNew(Path("file")).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("file")));
  EXPECT_THAT(disk_.ReadFile(Path("file")), IsOkAndHolds("old"));
  EXPECT_OK(disk_.CreateNew(Path("other")).status());
  EXPECT_TRUE(Exists("other"));
}

TEST_F(DiskTest, FoldersAreMadeWithThoseAboveThem) {
  EXPECT_OK(disk_.MakeDirectories(Path("a/b//c/")));
  EXPECT_TRUE(std::filesystem::is_directory(Path("a/b/c")));
  EXPECT_OK(disk_.MakeDirectories(Path("a/b")));
  ASSERT_OK(disk_.WriteWhole(Path("file"), ""));
  EXPECT_THAT(disk_.MakeDirectories(Path("file")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("file: cannot make the folder")));
  EXPECT_FALSE(disk_.MakeDirectories(Path("file/below")).ok());
}

TEST_F(DiskTest, ContentMadePieceByPieceIsWhole) {
  ASSERT_OK(disk_.WriteWhole(Path("file"), [](WritableFile& file) {
    for (const char* piece : {"one ", "", "two"}) {
      if (absl::Status status = file.Append(piece); !status.ok()) return status;
    }
    return absl::OkStatus();
  }));
  EXPECT_THAT(disk_.ReadFile(Path("file")), IsOkAndHolds("one two"));
}

}  // namespace
}  // namespace ssd
