// The order of a worker's events, and how runs end.
#include "worker/trainer.h"

#include <algorithm>

#include "tests/worker/training_run.h"

namespace ssd {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RunSetup;
using testing::TrainingRun;

using Policy = SyncScheduleOptions::Policy;
using Push = SyncScheduleOptions::Push;

SyncScheduleOptions Ssd(int64_t overlap, int64_t total = 10) {
  return {.k = 4, .pull_overlap = overlap, .total_steps = total};
}

TEST(TrainerOverlapTest, TheLastLayersBlockIsPushedBeforeTheFirstLayersBackwardReturns) {
  TrainingRun run({.schedule = {.policy = Policy::kSsgd, .total_steps = 1}});
  run.Run();
  ASSERT_TRUE(run.ok());
  const std::vector<std::string> first_step(run.events.begin() + run.At("train 0"), run.events.end());
  EXPECT_THAT(first_step, ElementsAre("train 0",                            //
                                      "layer 2 begins", "layer 2 returns",  //
                                      "push block 3 step 0",  // statistics, ahead of all gradients
                                      "push block 2 step 0",  //
                                      "layer 1 begins", "layer 1 returns", "push block 1 step 0",  //
                                      "layer 0 begins", "layer 0 returns", "push block 0 step 0",  //
                                      "pull 1"));
}

TEST(TrainerOverlapTest, EveryPeriodPushesInTheBackwardOfThePeriodsLastStepAlone) {
  SyncScheduleOptions schedule = Ssd(1, /*total=*/4);
  schedule.push = Push::kEveryPeriod;
  TrainingRun run({.schedule = schedule});
  run.Run();
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run.At("push block 2 step 0"), -1);
  EXPECT_EQ(std::count_if(run.events.begin(), run.events.end(),
                          [](const std::string& event) { return event.rfind("push", 0) == 0; }),
            4);
  const auto last_step = run.events.begin() + run.At("train 3");
  const auto pushed = std::find(last_step, run.events.end(), "push block 2 step 3");
  EXPECT_LT(pushed, std::find(last_step, run.events.end(), "layer 0 returns"));
}

// Worker 1 has not given step 3, so version 4 cannot be there.
TEST(TrainerOverlapTest, WithOverlapTheNextGradientIsComputedWhileThePullIsOnItsWay) {
  TrainingRun run({.num_workers = 2, .schedule = Ssd(/*overlap=*/1), .held_from = 3});
  run.Run();
  EXPECT_GT(run.At("pull 4"), run.At("train 3"));
  EXPECT_GT(run.At("train 4"), run.At("pull 4"));
  EXPECT_NE(run.At("push block 0 step 4"), -1) << "the gradient is whole and sent";
  ASSERT_EQ(run.models[0]->steps, 5) << "k + pull_overlap steps ahead, and no more";
  const std::vector<float> waiting = run.weights(0);
  EXPECT_EQ(waiting, run.models[0]->weights_at_gradient[4]) << "no local update before the pull is installed";

  run.batches[1]->ReleaseAll();
  run.executor.RunUntilIdle();
  EXPECT_TRUE(run.ok());
  EXPECT_EQ(run.models[0]->steps, 10);
}

TEST(TrainerOverlapTest, WithoutOverlapThePullIsAwaitedBeforeTheNextGradient) {
  TrainingRun run({.num_workers = 2, .schedule = Ssd(/*overlap=*/0), .held_from = 3});
  run.Run();
  EXPECT_NE(run.At("pull 4"), -1);
  EXPECT_EQ(run.At("train 4"), -1);
  EXPECT_EQ(run.models[0]->steps, 4) << "k steps ahead";

  run.batches[1]->ReleaseAll();
  run.executor.RunUntilIdle();
  EXPECT_TRUE(run.ok());
}

TEST(TrainerOverlapTest, SynchronousStepsWaitForEverybody) {
  TrainingRun run(
      {.num_workers = 2, .schedule = {.policy = Policy::kSsgd, .total_steps = 10}, .held_from = 3});
  run.Run();
  EXPECT_EQ(run.models[0]->steps, 4);
  EXPECT_EQ(run.At("train 4"), -1);
}

TEST(TrainerTest, EveryWorkerDoesExactlyTheRunsSteps) {
  for (Policy policy : {Policy::kSsgd, Policy::kSsdSgd}) {
    for (int64_t overlap : {0, 1}) {
      for (int64_t total : {1, 3, 4, 5, 13}) {
        for (Push push : {Push::kEveryStep, Push::kEveryPeriod}) {
          for (bool deterministic : {false, true}) {
            TrainingRun run({.num_workers = 3,
                             .num_shards = 2,
                             .deterministic = deterministic,
                             .schedule = {.policy = policy,
                                          .k = 4,
                                          .warmup_steps = 2,
                                          .pull_overlap = overlap,
                                          .push = push,
                                          .total_steps = total}});
            std::vector<std::vector<int64_t>> done(3);
            for (int i = 0; i < 3; ++i) {
              run.cluster->trainer(i).set_step_done(
                  [&done, i](Step step) { done[i].push_back(step.value()); });
            }
            run.Run();
            ASSERT_TRUE(run.ok()) << "total " << total << " overlap " << overlap;
            std::vector<int64_t> all(total);
            for (int64_t t = 0; t < total; ++t) all[t] = t;
            EXPECT_THAT(done, Each(all));
            for (int i = 0; i < 3; ++i) {
              EXPECT_EQ(run.models[i]->steps, total);
              EXPECT_EQ(run.weights(i), run.weights(0)) << "all end with the last version";
            }
          }
        }
      }
    }
  }
}

TEST(TrainerTest, AllReplicasStartFromWorker0sWeights) {
  TrainingRun run({.num_workers = 2, .schedule = Ssd(1, /*total=*/1)});
  run.models[0]->parameters()[1] = 7;
  run.models[1]->parameters()[1] = -9;
  run.Run();
  ASSERT_TRUE(run.ok());
  for (const auto& model : run.models) EXPECT_THAT(model->weights_at_gradient[0], ElementsAre(1, 7, 1));
}

TEST(TrainerTest, AReportThatCannotBeKeptEndsTheRunForAll) {
  TrainingRun run({.num_workers = 2, .schedule = Ssd(1, /*total=*/45)});
  std::vector<uint64_t> steps;
  run.cluster->trainer(1).set_on_report([&steps](const v1::Report& report) -> absl::Status {
    steps.push_back(report.step());
    return report.step() < 40 ? absl::OkStatus() : absl::ResourceExhaustedError("events: full");
  });
  run.Run();
  EXPECT_THAT(steps, ElementsAre(20, 40));
  ASSERT_TRUE(run.cluster->worker_endings[1].has_value());
  EXPECT_EQ(run.cluster->worker_endings[1]->code, kExitStorage);
  EXPECT_EQ(run.cluster->worker_endings[1]->message, "events: full");
  EXPECT_EQ(run.codes()[0], kExitPeerLost) << "the shard has lost a worker";
}

TEST(TrainerTest, ReportsCountEverySampleOnce) {
  TrainingRun run({.num_workers = 3, .schedule = Ssd(1, /*total=*/45)});
  run.Run();
  const auto& reports = run.cluster->observer.reports;
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[0].step(), 20u);
  EXPECT_EQ(reports[1].step(), 40u);
  EXPECT_EQ(reports[2].step(), 45u) << "the rest at the end";
  EXPECT_EQ(reports[1].samples(), 3u * 20 * 2);
  EXPECT_EQ(reports[2].samples(), 3u * 5 * 2);
  EXPECT_EQ(reports[2].steps(), 5u);
  EXPECT_EQ(reports[2].correct(), 3u * 5);
  EXPECT_EQ(reports[2].loss_sum(), 3 * 5 * 0.5);
  EXPECT_EQ(reports[1].bytes_pushed(), 3u * (20 * 3 + 5) * sizeof(float))
      << "gradients, and statistics once a period";
  EXPECT_EQ(reports[1].bytes_pulled(), 3u * 5 * 3 * sizeof(float)) << "once a period";
}

TEST(TrainerTest, FinishedGetsTheMeanOfTheWorkersStatistics) {
  TrainingRun run({.num_workers = 2, .num_shards = 2, .schedule = Ssd(1, /*total=*/6)});
  std::vector<float> buffers;
  run.cluster->on_finished = [&buffers](int, std::span<const float> averaged) {
    buffers.push_back(averaged[0]);
  };
  run.Run();
  EXPECT_THAT(buffers, ElementsAre(6 + 12.5f, 6 + 12.5f)) << "of 6 and 25 + 6";
  EXPECT_EQ(run.models[1]->buffers()[0], 31.0f) << "nobody overwrites a worker's own";
}

TEST(TrainerEndingTest, ANonFiniteLossEndsAllWithCode4) {
  TrainingRun run({.num_workers = 3, .num_shards = 2, .schedule = Ssd(1)});
  run.models[1]->bad_loss_step = 5;
  run.Run();
  EXPECT_THAT(run.codes(), Each(4));
  for (const auto& ending : run.cluster->worker_endings) {
    ASSERT_TRUE(ending.has_value());
    EXPECT_THAT(ending->message, HasSubstr("the loss of worker 1 at step 5 is not finite (nan)"));
  }
}

TEST(TrainerEndingTest, ANonFiniteGradientEndsAllWithCode4AndItsTensor) {
  for (Push push : {Push::kEveryStep, Push::kEveryPeriod}) {
    SyncScheduleOptions schedule = Ssd(1);
    schedule.push = push;
    TrainingRun run({.num_workers = 3, .num_shards = 2, .schedule = schedule});
    run.models[2]->bad_gradient_step = 7;
    run.Run();
    EXPECT_THAT(run.codes(), Each(4));
    for (const auto& ending : run.cluster->worker_endings) {
      EXPECT_THAT(ending->message,
                  AllOf(HasSubstr("in the gradient of layer"), HasSubstr("worker 2 at step 7")));
    }
  }
}

TEST(TrainerEndingTest, AKilledWorkerIsALostPeerForAllOthers) {
  TrainingRun run({.num_workers = 3, .num_shards = 2, .schedule = Ssd(1), .held_from = 5});
  run.Run();
  run.cluster->KillWorker(2);
  run.executor.RunUntilIdle();
  EXPECT_THAT(run.codes(), ElementsAre(200, 200, 200, 200, -1));
  EXPECT_THAT(run.cluster->worker_endings[0]->message, HasSubstr("lost worker 2 at step 5"));
}

TEST(TrainerEndingTest, AWorkerMayGoWhileItsBatchIsMade) {
  TrainingRun run({.num_workers = 2, .schedule = Ssd(1)});
  run.cluster->Start();
  while (run.models[1]->steps < 3) ASSERT_TRUE(run.executor.RunOne());
  run.cluster->KillWorker(1);
  run.executor.RunUntilIdle();  // the sanitizers watch
  EXPECT_THAT(run.codes(), ElementsAre(200, 200, -1));
}

TEST(TrainerEndingTest, AStalledWorkerIsNamedByEverybodyWithinPeerTimeout) {
  TrainingRun run({.num_workers = 3, .num_shards = 2, .schedule = Ssd(1), .held_from = 5});
  run.Run();
  run.executor.Advance(absl::Seconds(59));
  EXPECT_THAT(run.codes(), Each(-1));
  run.executor.Advance(absl::Seconds(3));
  EXPECT_THAT(run.codes(), Each(200));
  for (const auto& ending : run.cluster->worker_endings) {
    ASSERT_TRUE(ending.has_value());
    EXPECT_THAT(ending->message, HasSubstr("lost worker 2 at step 5"));
  }
}

TEST(TrainerEndingTest, WhatTheObserverCannotStoreEndsTheRun) {
  TrainingRun run({.num_workers = 2, .num_shards = 2, .schedule = Ssd(1, /*total=*/30)});
  run.cluster->observer.status = absl::ResourceExhaustedError("disk full");
  run.Run();
  EXPECT_EQ(run.codes()[0], 6);
  for (const int code : run.codes()) EXPECT_NE(code, 0);
  EXPECT_THAT(run.cluster->worker_endings[1]->message, HasSubstr("disk full"));
}

}  // namespace
}  // namespace ssd
