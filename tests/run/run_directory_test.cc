#include "deploy/run/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "common/io/disk.h"
#include "tests/run/temporary_directory.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::IsOkAndHolds;
using ::ssd::testing::StatusIs;
using ::testing::HasSubstr;

TEST(RunDirectoryTest, NumbersRiseFromOne) {
  TemporaryDirectory directory;
  EXPECT_THAT(CreateRunDirectory(directory.File("runs"), "name"),
              IsOkAndHolds(directory.File("runs/name/001")));
  EXPECT_THAT(CreateRunDirectory(directory.File("runs"), "name"),
              IsOkAndHolds(directory.File("runs/name/002")));
  EXPECT_THAT(CreateRunDirectory(directory.File("runs"), "other"),
              IsOkAndHolds(directory.File("runs/other/001")));
}

TEST(RunDirectoryTest, AFileInTheWayIsNotOverwritten) {
  TemporaryDirectory directory;
  ASSERT_OK(Disk::Real().MakeDirectories(directory.File("name")));
  Append(directory.File("name/001"), "precious");
  EXPECT_THAT(CreateRunDirectory(directory.path(), "name"), IsOkAndHolds(directory.File("name/002")));
  EXPECT_EQ(ReadWhole(directory.File("name/001")), "precious");
}

TEST(RunDirectoryTest, LaunchersAtOnceNeverShareAFolder) {
  TemporaryDirectory directory;
  constexpr int kLaunchers = 8, kRuns = 20;
  std::vector<std::vector<std::string>> paths(kLaunchers);
  std::vector<std::thread> threads;
  for (std::vector<std::string>& mine : paths) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRuns; ++i)
        mine.push_back(CreateRunDirectory(directory.path(), "name").value_or("failed"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> distinct;
  for (const std::vector<std::string>& mine : paths) distinct.insert(mine.begin(), mine.end());
  EXPECT_EQ(distinct.size(), static_cast<size_t>(kLaunchers * kRuns));
  EXPECT_EQ(distinct.count("failed"), 0u);
  EXPECT_EQ(*distinct.rbegin(), directory.File("name/160"));
}

TEST(RunDirectoryTest, AFileWhereAFolderIsNeededIsNamed) {
  TemporaryDirectory directory;
  Append(directory.File("runs"), "");
  EXPECT_THAT(CreateRunDirectory(directory.File("runs"), "name"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(directory.File("runs"))));
}

}  // namespace
}  // namespace ssd
