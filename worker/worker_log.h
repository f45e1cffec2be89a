// Writes how one worker's training goes to an event file for TensorBoard.
#ifndef SSD_WORKER_WORKER_LOG_H_
#define SSD_WORKER_WORKER_LOG_H_

#include "absl/status/status.h"
#include "common/metrics/metrics_log.h"
#include "ssd/v1/parameter_service.pb.h"

namespace ssd {

// Not thread-safe; on the worker's executor.
class WorkerLog {
 public:
  WorkerLog(Clock& clock, Disk& disk, MetricsLog::Options files, double steps_per_epoch)
      : metrics_(clock, disk, std::move(files)), steps_per_epoch_(steps_per_epoch) {}

  // `report`: this worker's own. Fails as the disk does.
  absl::Status OnReport(const v1::Report& report);

 private:
  MetricsLog metrics_;
  const double steps_per_epoch_;
  uint64_t bytes_pushed_ = 0;  // so far
  uint64_t bytes_pulled_ = 0;
};

}  // namespace ssd

#endif  // SSD_WORKER_WORKER_LOG_H_
