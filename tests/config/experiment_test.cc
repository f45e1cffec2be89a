#include "common/config/experiment.h"

#include <google/protobuf/util/message_differencer.h>

#include <filesystem>
#include <map>
#include <set>

#include "common/config/schema.h"
#include "tests/config/loading.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::ssd::testing::LinesOf;
using ::ssd::testing::Load;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Files = std::map<std::string, std::string>;

// Files in memory, to be read.
class MemoryDisk : public Disk {
 public:
  explicit MemoryDisk(Files files) : files_(std::move(files)) {}

  absl::StatusOr<std::string> ReadFile(const std::string& path) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return absl::NotFoundError(path + ": cannot open: No such file or directory");
    return found->second;
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string&) override { return ReadOnly(); }
  absl::StatusOr<std::unique_ptr<WritableFile>> CreateNew(const std::string&) override { return ReadOnly(); }
  absl::Status MakeDirectories(const std::string&) override { return ReadOnly(); }
  absl::Status Rename(const std::string&, const std::string&) override { return ReadOnly(); }
  absl::Status Remove(const std::string&) override { return ReadOnly(); }
  absl::Status SyncDirectory(const std::string&) override { return ReadOnly(); }

 private:
  static absl::Status ReadOnly() { return absl::PermissionDeniedError("read only"); }

  const Files files_;
};

TEST(ExperimentTest, LaterFilesAndThenSettingsWin) {
  MemoryDisk disk(Files{{"one.yaml", "seed: 1\noptimizer: {lr: 0.1, momentum: 0.5}\n"},
                        {"two.yaml", "\noptimizer:\n  lr: 0.2\n  weight_decay: 0\n"}});
  const std::vector<std::string> files = {"one.yaml", "two.yaml"}, overrides = {"optimizer.weight_decay=0.5"};
  const absl::StatusOr<LoadedExperiment> loaded = LoadExperiment(files, overrides, disk);
  ASSERT_OK(loaded);
  EXPECT_EQ(loaded->proto.optimizer().lr(), 0.2);
  EXPECT_EQ(loaded->origins.at("optimizer.lr").label, "two.yaml:3");
  EXPECT_EQ(loaded->proto.optimizer().momentum(), 0.5);
  EXPECT_EQ(loaded->origins.at("optimizer.momentum").label, "one.yaml:2");
  EXPECT_EQ(loaded->proto.optimizer().weight_decay(), 0.5);
  EXPECT_EQ(loaded->origins.at("optimizer.weight_decay").label, "--set");
}

TEST(ExperimentTest, AMissingFileIsOneErrorAmongOthers) {
  MemoryDisk disk(Files{{"one.yaml", "seed: x\n"}});
  const std::vector<std::string> files = {"one.yaml", "two.yaml"}, overrides = {"sync.k=0"};
  const absl::StatusOr<LoadedExperiment> loaded = LoadExperiment(files, overrides, disk);
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(LinesOf(loaded.status()),
              ElementsAre("one.yaml:1:7: seed: got \"x\", want a whole number from 0 to 18446744073709551615",
                          "two.yaml: cannot open: No such file or directory",
                          "--set sync.k=0: sync.k: got \"0\", want a whole number from 1 to 1000"));
}

TEST(ExperimentTest, WithoutFilesThereAreTheDefaultsAndTheSettings) {
  MemoryDisk disk{Files()};
  const std::vector<std::string> overrides = {"seed=5"};
  const absl::StatusOr<LoadedExperiment> loaded = LoadExperiment({}, overrides, disk);
  ASSERT_OK(loaded);
  EXPECT_EQ(loaded->proto.seed(), 5u);
}

TEST(PrintConfigTest, NamesEachValuesOrigin) {
  const absl::StatusOr<LoadedExperiment> loaded =
      Load("name: a\noptimizer:\n  lr: 1e-4\n", {"cluster.rendezvous_timeout=500ms"});
  ASSERT_OK(loaded);
  const std::string printed = PrintConfig(*loaded);
  EXPECT_THAT(printed, ::testing::StartsWith(
                           "name: a  # a.yaml:1\nseed: 1  # default\nmodel:\n  name: resnet20  # default\n"));
  EXPECT_THAT(printed, HasSubstr("\noptimizer:\n  lr: 1e-4  # a.yaml:3\n  momentum: 0.9  # default\n"));
  EXPECT_THAT(printed, HasSubstr("\n  rendezvous_timeout: 0.5s  # --set\n"));
  EXPECT_THAT(printed, HasSubstr("\n  local:\n    update: glu  # default\n    alpha: auto  # default\n"));
}

TEST(PrintConfigTest, OptionsWithoutEffectAreComments) {
  const absl::StatusOr<LoadedExperiment> loaded = Load("sync: {k: 8}", {"sync.policy=ssgd"});
  ASSERT_OK(loaded);
  EXPECT_THAT(PrintConfig(*loaded), HasSubstr("\n  # k: 4  # default, not used with this sync.policy\n"));
}

TEST(PrintConfigTest, LoadsAgainToTheSameExperiment) {
  const char* const texts[] = {
      "",
      "sync: {policy: ssgd}",
      "sync: {local: {update: momentum}}",
      "sync: {push: every_period, k: 7, pull_overlap: 0, warmup: 33it, local: {update: sgd, alpha: 0.1}}",
      "data: {dataset: shapes, shapes_train: 77}\noutput: {directory: \"a \\\"b\\\" # c\\\\d: [e]\"}",
      "optimizer: {lr: 0.30000000000000004, schedule: {kind: step, milestones: [0.1ep, 1ep], gamma: 0.25}}",
      "optimizer: {lr: 1e-300, schedule: {kind: polynomial, power: 1.5}}",
      "cluster: {servers: 2, addresses: ['[::1]:80', 'unix:/a, b'], rendezvous_timeout: 1ms, threads: 3}",
      "server: {block_size: 12KiB, deterministic: true}\nseed: 18446744073709551615",
      "name: null-or-not\ndata: {path: 'null'}",
  };
  for (const char* text : texts) {
    const absl::StatusOr<LoadedExperiment> loaded = Load(text);
    ASSERT_OK(loaded);
    const std::string printed = PrintConfig(*loaded);
    const absl::StatusOr<LoadedExperiment> again = Load(printed);
    ASSERT_OK(again) << printed;
    EXPECT_TRUE(MessageDifferencer::Equals(again->proto, loaded->proto)) << printed;
  }
}

TEST(AgreedFieldsTest, AreAllButTheLocalOnesInTheSchemasOrder) {
  const absl::StatusOr<LoadedExperiment> loaded = Load(
      "name: a\nseed: 9\noptimizer: {schedule: {kind: step, milestones: [1ep, 2.50ep]}}\ncluster: {threads: "
      "3}");
  ASSERT_OK(loaded);
  const std::vector<std::pair<std::string, std::string>> fields = AgreedFields(loaded->proto);
  EXPECT_EQ(fields.front(), (std::pair<std::string, std::string>("seed", "9")));
  const std::map<std::string, std::string> values(fields.begin(), fields.end());
  EXPECT_EQ(values.at("optimizer.schedule.milestones"), "[1ep, 2.5ep]");
  EXPECT_EQ(values.at("sync.local.alpha"), "auto");
  EXPECT_EQ(values.at("cluster.workers"), "2");
  for (const char* local :
       {"name", "data.path", "cluster.addresses", "cluster.threads", "output.directory"}) {
    EXPECT_EQ(values.count(local), 0u) << local;
  }
  size_t agreed = 0;
  for (const Option& option : Options()) agreed += option.rules().local() ? 0 : 1;
  EXPECT_EQ(fields.size(), agreed);
}

TEST(AgreedFieldsTest, OtherSpellingsOfAValueAgree) {
  const absl::StatusOr<LoadedExperiment> one = Load("optimizer: {lr: 1e-1}\nserver: {block_size: 65536}");
  const absl::StatusOr<LoadedExperiment> two = Load("optimizer: {lr: 0.10}\nserver: {block_size: 64KiB}");
  ASSERT_OK(one);
  ASSERT_OK(two);
  EXPECT_EQ(AgreedFields(one->proto), AgreedFields(two->proto));
}

TEST(ResolveStepsTest, EpochsRoundUpToTheFirstStepAtOrAfterThem) {
  const auto steps = [](double epochs, int64_t steps_per_epoch) {
    v1::TrainingTime time;
    time.set_epochs(epochs);
    return ResolveSteps(time, steps_per_epoch);
  };
  EXPECT_EQ(steps(10, 391), 3910);
  EXPECT_EQ(steps(0, 391), 0);
  EXPECT_EQ(steps(0.5, 5), 3);
  EXPECT_EQ(steps(1e-6, 5), 1);
  EXPECT_EQ(steps(0.1, 30), 3);  // 0.1 * 30 is 3.0000000000000004
  EXPECT_EQ(steps(2.3, 10), 23);
  EXPECT_EQ(steps(1e6, 1'000'000), 1'000'000'000'000);
}

TEST(ResolveStepsTest, IterationsAreSteps) {
  v1::TrainingTime time;
  time.set_iterations(500);
  EXPECT_EQ(ResolveSteps(time, 391), 500);
  EXPECT_EQ(ResolveSteps(v1::TrainingTime(), 391), 0);
}

TEST(ExamplesTest, AllLoadUnderTheirOwnNames) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(SSD_SOURCE_DIR "/deploy/experiments")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::vector<std::string> files = {entry.path().string()};
    const absl::StatusOr<LoadedExperiment> loaded = LoadExperiment(files, {}, Disk::Real());
    ASSERT_OK(loaded);
    EXPECT_EQ(loaded->proto.name(), entry.path().stem().string());
    names.insert(loaded->proto.name());
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"quickstart", "cifar10_resnet20_ssgd", "cifar10_resnet20_ssd",
                                              "cifar10_resnet20_ssd_every_period"}));
}

TEST(ExamplesTest, TheQuickstartNeedsNoFilesAndComparesWithSynchronousSgd) {
  const std::vector<std::string> files = {SSD_SOURCE_DIR "/deploy/experiments/quickstart.yaml"};
  const std::vector<std::string> overrides = {"sync.policy=ssgd"};
  const absl::StatusOr<LoadedExperiment> loaded = LoadExperiment(files, overrides, Disk::Real());
  ASSERT_OK(loaded);
  EXPECT_EQ(loaded->proto.data().dataset(), v1::Data::shapes);
  EXPECT_EQ(loaded->proto.sync().policy(), v1::Sync::ssgd);
}

}  // namespace
}  // namespace ssd
