#include "common/config/applicability.h"

#include "tests/config/loading.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::ErrorsOf;
using ::ssd::testing::Load;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ApplicabilityTest, AnOptionWithoutEffectIsRefusedAndTheReasonNamed) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"sync:\n  policy: ssgd\n  k: 4",
       "a.yaml:3:3: sync.k has no effect with sync.policy: ssgd (a.yaml:2); it needs sync.policy: ssd_sgd"},
      {"sync: {policy: ssgd, warmup: 1ep}",
       "a.yaml:1:22: sync.warmup has no effect with sync.policy: ssgd (a.yaml:1); "
       "it needs sync.policy: ssd_sgd"},
      {"sync: {policy: ssgd, local: {update: sgd}}",
       "a.yaml:1:30: sync.local.update has no effect with sync.policy: ssgd (a.yaml:1); it needs "
       "sync.policy: ssd_sgd"},
      {"sync: {local: {update: momentum, alpha: 1}}",
       "a.yaml:1:34: sync.local.alpha has no effect with sync.local.update: momentum (a.yaml:1); it needs "
       "sync.local.update: glu, sgd, glu_momentum, glu_prototype or dc_local"},
      {"sync: {local: {update: momentum, beta: auto}}",
       "a.yaml:1:34: sync.local.beta has no effect with sync.local.update: momentum (a.yaml:1); it needs "
       "sync.local.update: glu or glu_prototype"},
      {"sync: {local: {update: sgd, beta: 0.5}}",
       "a.yaml:1:29: sync.local.beta has no effect with sync.local.update: sgd (a.yaml:1); it needs "
       "sync.local.update: glu or glu_prototype"},
      {"optimizer: {schedule: {kind: cosine, gamma: 0.5}}",
       "a.yaml:1:38: optimizer.schedule.gamma has no effect with optimizer.schedule.kind: cosine (a.yaml:1); "
       "it needs "
       "optimizer.schedule.kind: step"},
      {"optimizer: {schedule: {milestones: [1ep]}}",
       "a.yaml:1:24: optimizer.schedule.milestones has no effect with optimizer.schedule.kind: constant "
       "(default); it "
       "needs optimizer.schedule.kind: step"},
      {"data: {dataset: cifar10, shapes_train: 9}",
       "a.yaml:1:26: data.shapes_train has no effect with data.dataset: cifar10 (a.yaml:1); it needs "
       "data.dataset: "
       "shapes"},
      {"data: {dataset: shapes, path: /x}",
       "a.yaml:1:25: data.path has no effect with data.dataset: shapes (a.yaml:1); it needs data.dataset: "
       "cifar10"},
  };
  for (const auto& c : cases) EXPECT_THAT(ErrorsOf(c.text), ElementsAre(c.error)) << c.text;
}

TEST(ApplicabilityTest, DefaultsWithoutEffectAreNoError) {
  EXPECT_THAT(ErrorsOf("sync: {policy: ssgd}"), IsEmpty());
  EXPECT_THAT(ErrorsOf("sync: {local: {update: momentum}}"), IsEmpty());
  EXPECT_THAT(ErrorsOf("sync: {local: {update: sgd, alpha: 2}}"), IsEmpty());
}

TEST(ApplicabilityTest, ALaterLayerSetsAsideWhatItTakesTheEffectFrom) {
  const absl::StatusOr<LoadedExperiment> loaded =
      Load("sync: {k: 8, local: {alpha: 2}}\noptimizer: {schedule: {kind: step, milestones: [1ep]}}",
           {"sync.policy=ssgd", "optimizer.schedule.kind=cosine"});
  ASSERT_OK(loaded);
  EXPECT_EQ(loaded->proto.sync().k(), 4);
  EXPECT_FALSE(loaded->proto.sync().local().has_alpha());
  EXPECT_TRUE(loaded->proto.optimizer().schedule().milestones().empty());
  EXPECT_EQ(loaded->origins.at("sync.k").label, "default");
  EXPECT_EQ(loaded->origins.count("optimizer.schedule.milestones[0]"), 0u);
}

TEST(ApplicabilityTest, OneLayerMustAgreeWithItself) {
  const std::string error =
      "--set sync.k=8: sync.k has no effect with sync.policy: ssgd (--set); it needs sync.policy: ssd_sgd";
  EXPECT_THAT(ErrorsOf("", {"sync.policy=ssgd", "sync.k=8"}), ElementsAre(error));
  EXPECT_THAT(ErrorsOf("", {"sync.k=8", "sync.policy=ssgd"}), ElementsAre(error));
}

TEST(ApplicabilityTest, AnOptionOnTopOfALayerThatMakesItUselessIsRefused) {
  EXPECT_THAT(ErrorsOf("sync: {policy: ssgd}", {"sync.k=8"}),
              ElementsAre("--set sync.k=8: sync.k has no effect with sync.policy: ssgd (a.yaml:1); it needs "
                          "sync.policy: ssd_sgd"));
}

TEST(ApplicabilityTest, AMistypedPolicyIsTheOnlyError) {
  EXPECT_THAT(
      ErrorsOf("sync: {policy: ssgdd, k: 4}\n"),
      ElementsAre(
          "a.yaml:1:16: sync.policy: got \"ssgdd\", want one of ssgd, ssd_sgd; did you mean \"ssgd\"?"));
}

}  // namespace
}  // namespace ssd
