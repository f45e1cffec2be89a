#include "worker/worker_log.h"

#include "tests/io/memory_disk.h"
#include "tests/testing/manual_executor.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(WorkerLogTest, AReportBecomesAnEventOfLossSpeedAndTimes) {
  MemoryDisk disk;
  testing::ManualExecutor clock;  // starts at 1000 s
  WorkerLog log(clock, disk, {.event_directory = "run/tensorboard/worker-1", .source = {"host", 7}},
                /*steps_per_epoch=*/10);
  v1::Report report;
  report.set_step(20);
  report.set_steps(20);
  report.set_samples(64);
  report.set_loss_sum(32);
  EXPECT_OK(log.OnReport(report));
  EXPECT_THAT(
      disk.files,
      ElementsAre(Pair(
          "run/tensorboard/worker-1/events.out.tfevents.0000001000.host.7.0",
          AllOf(HasSubstr(std::string("train/loss\x15\0\0\0?", 15)), HasSubstr("train/accuracy"),
                HasSubstr(std::string("train/epoch\x15\0\0\0@", 16)), HasSubstr("throughput/samples_per_sec"),
                HasSubstr("time/wait"), HasSubstr("throughput/bytes_pushed"), Not(HasSubstr("eval/"))))));
}

}  // namespace
}  // namespace ssd
