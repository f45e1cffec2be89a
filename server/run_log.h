// Writes how training goes to metrics.jsonl, one strict JSON object a line, to an event file for TensorBoard,
// and to the log. docs/run_folder.md names the fields.
#ifndef SSD_SERVER_RUN_LOG_H_
#define SSD_SERVER_RUN_LOG_H_

#include <memory>

#include "common/clock.h"
#include "common/config/training_plan.h"
#include "common/io/disk.h"
#include "common/learning_rate.h"
#include "common/metrics/metrics_log.h"
#include "server/coordinator.h"

namespace ssd {

// Not thread-safe; on shard 0's executor. Without files only the log is written.
class RunLog : public RunObserver {
 public:
  RunLog(Clock& clock, Disk& disk, MetricsLog::Options files);

  // The run starts; `hello` is the first worker's. Fails as the disk does.
  absl::Status OnStart(const v1::Hello& hello, const TrainingPlan& plan, int workers);
  absl::Status OnReport(const v1::Report& sum, int workers, int64_t lead) override;
  absl::Status OnEvaluation(const v1::Evaluated& sum) override;

 private:
  double Elapsed() const { return absl::ToDoubleSeconds(clock_.Steady() - started_); }
  double Epoch(uint64_t step) const { return static_cast<double>(step) / plan_.steps_per_epoch; }

  Clock& clock_;
  MetricsLog metrics_;
  TrainingPlan plan_;
  std::unique_ptr<LearningRate> learning_rate_;
  absl::Duration started_;  // steady time of OnStart
  // So far, of all workers, as their reports tell.
  int64_t samples_ = 0;
  uint64_t bytes_pushed_ = 0;
  uint64_t bytes_pulled_ = 0;
};

}  // namespace ssd

#endif  // SSD_SERVER_RUN_LOG_H_
