#include "common/config/yaml_loader.h"

#include <google/protobuf/util/message_differencer.h>

#include "common/config/schema.h"
#include "tests/config/loading.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::ssd::testing::ErrorsOf;
using ::ssd::testing::Load;
using ::testing::ElementsAre;

TEST(YamlLoaderTest, AnEmptyFileIsTheDefaults) {
  for (const char* text : {"", "# nothing\n", "---\n", "optimizer:\nsync:\n"}) {
    const absl::StatusOr<LoadedExperiment> loaded = Load(text);
    ASSERT_OK(loaded) << text;
    EXPECT_TRUE(MessageDifferencer::Equals(loaded->proto, DefaultExperiment().proto)) << text;
  }
}

TEST(YamlLoaderTest, DefaultsAreThoseOfTheSchema) {
  const v1::Experiment experiment = DefaultExperiment().proto;
  EXPECT_EQ(experiment.name(), "experiment");
  EXPECT_EQ(experiment.seed(), 1u);
  EXPECT_EQ(experiment.model().name(), v1::Model::resnet20);
  EXPECT_TRUE(experiment.data().augment());
  EXPECT_EQ(experiment.training().duration().epochs(), 10);
  EXPECT_EQ(experiment.optimizer().weight_decay(), 1e-4);
  EXPECT_EQ(experiment.optimizer().schedule().lr_ramp().unit_case(), v1::TrainingTime::kIterations);
  EXPECT_EQ(experiment.sync().policy(), v1::Sync::ssd_sgd);
  EXPECT_FALSE(experiment.sync().local().has_alpha());
  EXPECT_TRUE(experiment.cluster().addresses().empty());
  EXPECT_EQ(experiment.cluster().peer_timeout(), 60);
  EXPECT_FALSE(experiment.server().has_block_size());
}

TEST(YamlLoaderTest, EveryOptionHasADocAndADefaultThatItsRulesAllow) {
  for (const Option& option : Options()) {
    EXPECT_FALSE(option.rules().doc().empty()) << option.path;
    EXPECT_EQ(DefaultExperiment().origins.count(option.path), 1u) << option.path;
    for (const Need& need : option.needs) EXPECT_NE(FindOption(need.option), nullptr) << option.path;
  }
}

TEST(YamlLoaderTest, AFileSetsWhatItSays) {
  const absl::StatusOr<LoadedExperiment> loaded = Load(R"(
seed: 7
optimizer:
  lr: 1E-4
  schedule: {kind: step, milestones: [1.5ep, 2ep]}
cluster:
  servers: 2
  addresses:
    - 127.0.0.1:7000
    - "unix:/tmp/a b"
)");
  ASSERT_OK(loaded);
  EXPECT_EQ(loaded->proto.seed(), 7u);
  EXPECT_EQ(loaded->proto.optimizer().lr(), 1e-4);
  EXPECT_EQ(loaded->proto.optimizer().schedule().milestones(0).epochs(), 1.5);
  EXPECT_EQ(loaded->proto.cluster().addresses(1), "unix:/tmp/a b");
  EXPECT_EQ(loaded->origins.at("optimizer.lr").label, "a.yaml:4");
  EXPECT_EQ(loaded->origins.at("cluster.addresses[1]").place, "a.yaml:10:7");
  EXPECT_EQ(loaded->origins.at("optimizer.momentum").label, "default");
}

TEST(YamlLoaderTest, AFlowListMayHoldAddressesWithoutQuotes) {
  const absl::StatusOr<LoadedExperiment> loaded = Load("cluster: {addresses: [127.0.0.1:7000, unix:/tmp/a]}");
  ASSERT_OK(loaded);
  EXPECT_THAT(loaded->proto.cluster().addresses(), ElementsAre("127.0.0.1:7000", "unix:/tmp/a"));
}

TEST(YamlLoaderTest, AllErrorsComeInOnePass) {
  EXPECT_THAT(
      ErrorsOf("seed: -1\noptimizer:\n  learning_rat: 1\n  lr: 0\ncluster: 3\n", {"sync.k=x"}),
      ElementsAre("a.yaml:1:7: seed: got \"-1\", want a whole number from 0 to 18446744073709551615",
                  "a.yaml:3:3: unknown key \"optimizer.learning_rat\"; did you mean \"lr\"?",
                  "a.yaml:4:7: optimizer.lr: got \"0\", want a number above 0 and at most 1000",
                  "a.yaml:5:10: cluster: got \"3\", want a section: keys of its own, indented below, such as "
                  "\"servers\"",
                  "--set sync.k=x: sync.k: got \"x\", want a whole number from 1 to 1000"));
}

TEST(YamlLoaderTest, AnUnknownKeyComesWithAdvice) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"optimizer: {learning_rate: 1}",
       "a.yaml:1:13: unknown key \"optimizer.learning_rate\"; did you mean \"lr\"?"},
      {"optimizer: {momentun: 1}",
       "a.yaml:1:13: unknown key \"optimizer.momentun\"; did you mean \"momentum\"?"},
      {"optimizer: {weight-decay: 1}",
       "a.yaml:1:13: unknown key \"optimizer.weight-decay\"; did you mean \"weight_decay\"?"},
      {"optimiser: {lr: 1}", "a.yaml:1:1: unknown key \"optimiser\"; did you mean \"optimizer\"?"},
      {"lr: 1", "a.yaml:1:1: unknown key \"lr\"; that key is in section \"optimizer\""},
      {"optimizer: {k: 1}", "a.yaml:1:13: unknown key \"optimizer.k\"; that key is in section \"sync\""},
      {"model: {seed: 1}", "a.yaml:1:9: unknown key \"model.seed\"; that key is at the top level"},
      {"sync: {name: a}",
       "a.yaml:1:8: unknown key \"sync.name\"; that key is in the top level and in section \"model\""},
      {"schedule: {}", "a.yaml:1:1: unknown key \"schedule\"; that key is in section \"optimizer\""},
      {"optimizer.lr: 1",
       "a.yaml:1:1: unknown key \"optimizer.lr\"; in a file it is the key \"lr\" in section \"optimizer\""},
      {"epochs: 10", "a.yaml:1:1: unknown key \"epochs\"; did you mean \"training.duration\"?"},
      {"training: {epochs: 10}", "a.yaml:1:12: unknown key \"training.epochs\"; did you mean \"duration\"?"},
      {"training: {batch: 10}", "a.yaml:1:12: unknown key \"training.batch\"; did you mean \"batch_size\"?"},
      {"model: {xyzzy: 1}",
       "a.yaml:1:9: unknown key \"model.xyzzy\"; section \"model\" has name, block, layers, width, stem, "
       "weights, weights_strict"},
      {"model: {<<: {}}",
       "a.yaml:1:9: unknown key \"model.<<\"; section \"model\" has name, block, layers, width, stem, "
       "weights, weights_strict"},
  };
  for (const auto& c : cases) EXPECT_THAT(ErrorsOf(c.text), ElementsAre(c.error)) << c.text;
}

TEST(YamlLoaderTest, WrongKindsAndDuplicatesAreErrors) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"seed: 1\nname: a\nseed: 2", "a.yaml:3:1: duplicate key \"seed\"; line 1 has it already"},
      {"model: {}\ndata: {}\nmodel: {}", "a.yaml:3:1: duplicate key \"model\"; line 1 has it already"},
      {"seed: [1]", "a.yaml:1:7: seed: got a list, want a whole number from 0 to 18446744073709551615"},
      {"seed: {a: 1}",
       "a.yaml:1:7: seed: got keys and values, want a whole number from 0 to 18446744073709551615"},
      {"name: a\nseed:\nmodel: {}",
       "a.yaml:2:1: seed: got no value, want a whole number from 0 to 18446744073709551615"},
      {"data: {path: }", "a.yaml:1:8: data.path: got no value, want text; an empty one is \"\""},
      {"cluster: {addresses: 1}",
       "a.yaml:1:22: cluster.addresses: got \"1\", want a list in brackets, [a, b], of elements that are "
       "each text"},
      {"cluster: {addresses: }",
       "a.yaml:1:11: cluster.addresses: got no value, want a list in brackets, [a, b], of elements that are "
       "each text"},
      {"cluster: {addresses: [[a]]}", "a.yaml:1:23: cluster.addresses[0]: got a list, want text"},
      {"optimizer: [lr]",
       "a.yaml:1:12: optimizer: got a list, want a section: keys of its own, indented below, such as \"lr\""},
      {"- a", "a.yaml:1:1: got a list, want an experiment: lines like \"seed: 1\" and sections"},
      {"hello", "a.yaml:1:1: got \"hello\", want an experiment: lines like \"seed: 1\" and sections"},
  };
  for (const auto& c : cases) EXPECT_THAT(ErrorsOf(c.text), ElementsAre(c.error)) << c.text;
}

TEST(YamlLoaderTest, ASyntaxErrorStandsAlone) {
  EXPECT_THAT(ErrorsOf("seed: -1\noptimizer: {lr: 1"),
              ElementsAre("a.yaml:2:1: not valid YAML: end of map flow not found"));
}

TEST(YamlLoaderTest, SettingsGoOnTopFromLeftToRight) {
  const absl::StatusOr<LoadedExperiment> loaded =
      Load("optimizer: {lr: 0.1}",
           {"optimizer.lr=0.2", "optimizer.lr=0.3", "data.path=", "output.directory=a b: #1",
            "cluster.addresses=[127.0.0.1:1, 127.0.0.1:2]"});
  ASSERT_OK(loaded);
  EXPECT_EQ(loaded->proto.optimizer().lr(), 0.3);
  EXPECT_EQ(loaded->origins.at("optimizer.lr").label, "--set");
  EXPECT_EQ(loaded->proto.output().directory(), "a b: #1");
  EXPECT_THAT(loaded->proto.cluster().addresses(), ElementsAre("127.0.0.1:1", "127.0.0.1:2"));
}

TEST(YamlLoaderTest, AListReplacesTheOneBelow) {
  const std::string text = "optimizer: {schedule: {kind: step, milestones: [1ep, 2ep, 3ep]}}";
  const absl::StatusOr<LoadedExperiment> loaded = Load(text, {"optimizer.schedule.milestones=[5it]"});
  ASSERT_OK(loaded);
  ASSERT_EQ(loaded->proto.optimizer().schedule().milestones_size(), 1);
  EXPECT_EQ(loaded->proto.optimizer().schedule().milestones(0).iterations(), 5);
  EXPECT_EQ(loaded->origins.count("optimizer.schedule.milestones[1]"), 0u);
}

TEST(YamlLoaderTest, AutoTakesAValueBack) {
  const absl::StatusOr<LoadedExperiment> loaded =
      Load("sync: {local: {alpha: 2}}", {"sync.local.alpha=auto"});
  ASSERT_OK(loaded);
  EXPECT_FALSE(loaded->proto.sync().local().has_alpha());
}

TEST(YamlLoaderTest, AWrongSettingIsNamedByItsText) {
  const struct {
    const char* setting;
    const char* error;
  } cases[] = {
      {"optimizer.lr=abc",
       "--set optimizer.lr=abc: optimizer.lr: got \"abc\", want a number above 0 and at most 1000"},
      {"optimizer.lr", "--set optimizer.lr: want KEY=VALUE, such as optimizer.lr=0.2"},
      {"", "--set : want KEY=VALUE, such as optimizer.lr=0.2"},
      {"=1",
       "--set =1: unknown key \"\"; the top level has name, seed, model, data, training, optimizer, sync, "
       "cluster, server, evaluation, output"},
      {"optimizer.learning_rat=1",
       "--set optimizer.learning_rat=1: unknown key \"optimizer.learning_rat\"; did you mean "
       "\"optimizer.lr\"?"},
      {"lr=1", "--set lr=1: unknown key \"lr\"; did you mean \"optimizer.lr\"?"},
      {"model.seed=1", "--set model.seed=1: unknown key \"model.seed\"; that key is at the top level"},
      {"optimizer=1", "--set optimizer=1: optimizer is a section; set one of its keys, such as optimizer.lr"},
      {"optimizer.lr.x=1", "--set optimizer.lr.x=1: optimizer.lr is a value and has no key \"x\""},
      {"optimizer.=1",
       "--set optimizer.=1: unknown key \"optimizer.\"; section \"optimizer\" has lr, momentum, "
       "nesterov, weight_decay, schedule"},
      {"cluster.addresses=[a",
       "--set cluster.addresses=[a: cluster.addresses: got \"[a\", want a list in brackets, "
       "[a, b], of elements that are each text"},
      {"optimizer.lr=\"1\"",
       "--set optimizer.lr=\\\"1\\\": optimizer.lr: got \"\\\"1\\\"\", want a number above 0 and "
       "at most 1000"},
  };
  for (const auto& c : cases) EXPECT_THAT(ErrorsOf("", {c.setting}), ElementsAre(c.error)) << c.setting;
}

}  // namespace
}  // namespace ssd
