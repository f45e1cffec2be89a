#include "deploy/run/run_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/config/experiment.h"
#include "deploy/run/banner.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

v1::Experiment Load(const std::vector<std::string>& overrides) {
  return LoadExperimentText("test.yaml", "name: test\n", overrides)->proto;
}

TEST(RunPlanTest, EpochsThatAreNoWholeNumberOfStepsAreRoundedUpOnce) {
  const auto plan = MakeRunPlan(Load({"cluster.workers=4", "training.duration=10ep"}), /*cores=*/2);
  ASSERT_OK(plan.status());
  EXPECT_EQ(plan->global_batch, 128);
  EXPECT_EQ(plan->steps_per_epoch, 390.625);
  EXPECT_EQ(plan->steps, 3907);
  EXPECT_EQ(plan->warmup_steps, 391);
  EXPECT_EQ(plan->parameters, 269722);
}

TEST(RunPlanTest, WorkersShareTheCoresUnlessTheExperimentSaysOtherwise) {
  EXPECT_EQ(MakeRunPlan(Load({"cluster.workers=3"}), /*cores=*/8)->threads, 2);
  EXPECT_EQ(MakeRunPlan(Load({"cluster.workers=3"}), /*cores=*/2)->threads, 1);
  EXPECT_EQ(MakeRunPlan(Load({"cluster.threads=5"}), /*cores=*/2)->threads, 5);
}

TEST(RunPlanTest, DeterministicServersHoldMoreCopies) {
  const auto plain = MakeRunPlan(Load({"cluster.workers=4"}), 2);
  const auto deterministic = MakeRunPlan(Load({"cluster.workers=4", "server.deterministic=true"}), 2);
  // 2 (N - 1) = 6 copies of the half that each of two servers holds.
  const int64_t model_bytes = 4 * (plain->parameters + plain->buffers);
  EXPECT_NEAR(deterministic->server_bytes - plain->server_bytes, 3 * model_bytes, 4);
}

TEST(RunPlanTest, AWorkersMemoryGrowsWithTheBatchByWhatAPassKeeps) {
  const v1::Experiment experiment = Load({"model.name=resnet50", "training.batch_size=2"});
  const auto small = MakeRunPlan(experiment, 2);
  const auto large = MakeRunPlan(Load({"model.name=resnet50", "training.batch_size=12"}), 2);
  ASSERT_OK(small.status());
  EXPECT_EQ(small->parameters, 23528522);  // 25,557,032 less 990 classes
  EXPECT_EQ(large->worker_bytes - small->worker_bytes, 10 * 4 * OutlineOf(experiment)->activation_floats);
}

TEST(BannerTest, ACustomModelIsDescribedAndItsWeightsToo) {
  const v1::Experiment experiment =
      Load({"model.name=custom", "model.block=bottleneck", "model.layers=[1, 2]", "model.width=32"});
  EXPECT_THAT(
      RenderBanner(experiment, *MakeRunPlan(experiment, 2), {"starts from a", "missing: b"}, "runs/test/001"),
      ::testing::HasSubstr("\n  model       custom ResNet (bottleneck blocks 1, 2; width 32; imagenet stem), "
                           "192,298 parameters (0.7 MiB)\n"
                           "  weights     starts from a\n"
                           "              missing: b\n"
                           "  data        cifar10, "));
}

TEST(BannerTest, ShowsTheArithmeticOfTheRun) {
  v1::Experiment experiment =
      Load({"cluster.workers=4", "training.duration=10ep", "cluster.addresses=[127.0.0.1:1, 127.0.0.1:2]"});
  RunPlan plan = *MakeRunPlan(experiment, /*cores=*/8);
  plan.worker_bytes = 300 << 20;
  plan.server_bytes = 5 << 20;
  const std::string banner = RenderBanner(experiment, plan, {}, "runs/test/001");
  EXPECT_EQ(banner.substr(banner.find('\n') + 1),
            "  model       resnet20, 269,722 parameters (1.0 MiB)\n"
            "  data        cifar10, 50,000 training and 10,000 test images\n"
            "  policy      ssd_sgd: pulls every 4 steps behind the next one, pushes at every step, local "
            "update glu; "
            "synchronous for the first 391 steps\n"
            "  processes   4 workers of 2 threads, 2 servers, over TCP\n"
            "  batch       32 a worker x 4 workers = 128 (batch norm sees 32)\n"
            "  steps       50,000 images / 128 = 390.625 an epoch; 10 epochs = 3,907 steps, rounded up\n"
            "  memory      about 1,210 MiB: 4 workers of 300 MiB, 2 servers of 5.0 MiB\n"
            "  run folder  runs/test/001");
}

TEST(BannerTest, ARunInStepsSaysHowManyEpochsTheyAre) {
  const v1::Experiment experiment =
      Load({"sync.policy=ssgd", "cluster.workers=1", "training.batch_size=50", "training.duration=500it"});
  const std::string banner = RenderBanner(experiment, *MakeRunPlan(experiment, 2), {}, "runs/test/001");
  EXPECT_THAT(banner, ::testing::HasSubstr("50,000 images / 50 = 1000 an epoch; 500 steps = 0.5 epochs\n"));
  EXPECT_THAT(banner,
              ::testing::HasSubstr("  policy      ssgd: pushes and pulls at every step, and waits\n"));
  EXPECT_THAT(banner, ::testing::HasSubstr("50 a worker x 1 worker = 50"));
}

}  // namespace
}  // namespace ssd
