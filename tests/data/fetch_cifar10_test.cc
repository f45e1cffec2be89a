// Runs deploy/data/fetch_cifar10.sh against archives made here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ssd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kRecordBytes = 3073;

struct Outcome {
  int exit_code;
  std::string output;  // standard output and error together
};

Outcome RunCommand(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  Outcome outcome;
  std::array<char, 4096> chunk;
  while (size_t n = fread(chunk.data(), 1, chunk.size(), pipe)) outcome.output.append(chunk.data(), n);
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

std::vector<std::string> FileNames(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  return names;
}

// Ten thousand records of evenly spread labels. Each plane has pixels `low` and, so many of its 1024, `low` +
// 1: the published means 0.4914, 0.4822 and 0.4465 times 255.
void WriteBatch(const fs::path& path) {
  struct Plane {
    char low;
    int higher;
  };
  constexpr std::array<Plane, 3> kPlanes = {{{125, 314}, {122, 985}, {113, 878}}};
  std::string record(1, '\0');
  for (const Plane& plane : kPlanes) {
    record += std::string(1024 - plane.higher, plane.low) + std::string(plane.higher, plane.low + 1);
  }
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < 10'000; ++i) {
    record[0] = static_cast<char>(i % 10);
    file << record;
  }
}

class FetchCifar10Test : public ::testing::Test {
 protected:
  FetchCifar10Test() {
    std::string name = ::testing::TempDir() + "fetch_cifar10_XXXXXX";
    root_ = mkdtemp(name.data());
    fs::create_directory(root_ / "out");
  }
  ~FetchCifar10Test() override { fs::remove_all(root_); }

  static std::string Script() { return SSD_SOURCE_DIR "/deploy/data/fetch_cifar10.sh"; }
  fs::path target() const { return root_ / "out/cifar"; }

  // A folder that passes every check.
  fs::path MakeFolder() {
    const fs::path folder = root_ / "cifar-10-batches-bin";
    fs::create_directory(folder);
    WriteBatch(folder / "test_batch.bin");
    for (int i = 1; i <= 5; ++i)
      fs::copy_file(folder / "test_batch.bin", folder / ("data_batch_" + std::to_string(i) + ".bin"));
    return folder;
  }
  // Packs root_/cifar-10-batches-bin.
  fs::path MakeArchive() {
    EXPECT_EQ(RunCommand("tar -C " + root_.string() + " -cf " + (root_ / "archive.tar").string() +
                         " cifar-10-batches-bin")
                  .exit_code,
              0);
    return root_ / "archive.tar";
  }
  Outcome Fetch(const fs::path& archive) {
    return RunCommand("SSD_CIFAR10_URL=file://" + archive.string() + " " + Script() + " " +
                      target().string());
  }

  fs::path root_;
};

TEST_F(FetchCifar10Test, FetchesChecksAndSaysWhatToSetOnceOnly) {
  MakeFolder();
  const fs::path archive = MakeArchive();
  const Outcome first = Fetch(archive);
  EXPECT_EQ(first.exit_code, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("export SSD_DATA_DIR=" + target().string()));
  EXPECT_THAT(FileNames(root_ / "out"), ElementsAre("cifar"));
  EXPECT_EQ(fs::file_size(target() / "data_batch_5.bin"), 30'730'000u);
  fs::remove(archive);
  const Outcome second = Fetch(archive);
  EXPECT_EQ(second.exit_code, 0) << second.output;
  EXPECT_THAT(second.output, HasSubstr("already there"));
}

TEST_F(FetchCifar10Test, AnArchiveWithAShortFileLeavesNothingBehind) {
  const fs::path folder = root_ / "cifar-10-batches-bin";
  fs::create_directory(folder);
  std::ofstream(folder / "data_batch_1.bin") << "short";
  const Outcome outcome = Fetch(MakeArchive());
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("data_batch_1.bin: has 5 bytes, wanted 30730000"),
                                    HasSubstr("test_batch.bin: No such file or directory")));
  EXPECT_THAT(FileNames(root_ / "out"), IsEmpty());
}

TEST_F(FetchCifar10Test, WhatIsNoArchiveLeavesNothingBehind) {
  std::ofstream(root_ / "page.html") << "<html>404</html>";
  const Outcome outcome = Fetch(root_ / "page.html");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.output, HasSubstr("is not a tar archive"));
  EXPECT_THAT(FileNames(root_ / "out"), IsEmpty());
}

TEST_F(FetchCifar10Test, ADownloadThatFailsSaysHowToGoOnOffline) {
  const Outcome outcome = Fetch(root_ / "no_such_archive");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("cannot download"), HasSubstr("SSD_CIFAR10_URL=file://"), HasSubstr("shapes")));
  EXPECT_THAT(FileNames(root_ / "out"), IsEmpty());
}

TEST_F(FetchCifar10Test, AFolderOfOtherThingsIsNotTouched) {
  fs::create_directory(target());
  std::ofstream(target() / "thesis.tex") << "years of work";
  const Outcome outcome = Fetch(root_ / "no_such_archive");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.output, HasSubstr("is not CIFAR-10; it is left as it is"));
  EXPECT_THAT(FileNames(target()), ElementsAre("thesis.tex"));
}

TEST_F(FetchCifar10Test, TheCheckFindsAWrongLabelAWrongCountAndAWrongMean) {
  const fs::path folder = MakeFolder();
  const auto overwrite = [&](int64_t offset, const std::string& bytes) {
    std::fstream file(folder / "data_batch_2.bin", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(offset);
    file << bytes;
  };
  const std::string check = Script() + " --check " + folder.string();
  EXPECT_EQ(RunCommand(check).exit_code, 0);

  overwrite(77 * kRecordBytes, "\x0a");
  Outcome outcome = RunCommand(check);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.output, HasSubstr("data_batch_2.bin: record 77 has label 10, wanted 0 to 9"));

  overwrite(77 * kRecordBytes, "\x08");  // was 7
  // 700 records of white green planes move the mean by 700 / 50,000 * 0.52 = 0.0073.
  for (int record = 0; record < 700; ++record)
    overwrite(record * kRecordBytes + 1 + 1024, std::string(1024, '\xff'));
  outcome = RunCommand(check);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("5000, 5000, 4999, 5001, 5000"),
                                    HasSubstr("mean of green over the training images is 0.489")));
}

TEST_F(FetchCifar10Test, TheWholeRealSetPassesTheCheck) {
  const char* directory = std::getenv("SSD_DATA_DIR");
  if (directory == nullptr) GTEST_SKIP() << "SSD_DATA_DIR is not set";
  const Outcome outcome = RunCommand(Script() + " --check '" + directory + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
}

TEST_F(FetchCifar10Test, UsageErrorsExitWithTwo) {
  EXPECT_EQ(RunCommand(Script() + " --chekc x").exit_code, 2);
  EXPECT_EQ(RunCommand(Script() + " --check").exit_code, 2);
  EXPECT_EQ(RunCommand(Script() + " a b").exit_code, 2);
  EXPECT_EQ(RunCommand(Script() + " --help").exit_code, 0);
}

}  // namespace
}  // namespace ssd
