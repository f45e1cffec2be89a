// The arithmetic of a run, before it starts: how many steps, how many threads, how much memory.
#ifndef SSD_DEPLOY_RUN_RUN_PLAN_H_
#define SSD_DEPLOY_RUN_RUN_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "models/registry.h"
#include "ssd/v1/experiment.pb.h"

namespace ssd {

// A value type.
struct RunPlan {
  int64_t parameters = 0;  // floats that are trained
  int64_t buffers = 0;     // floats of batch norm's running statistics
  int64_t train_samples = 0;
  int64_t test_samples = 0;
  int64_t global_batch = 0;    // N B
  double steps_per_epoch = 0;  // train_samples / (N B), seldom a whole number
  int64_t steps = 0;           // T
  int64_t warmup_steps = 0;    // T_w; 0 under ssgd
  int64_t threads = 0;         // of each worker
  int64_t worker_bytes = 0;    // estimates of the memory of one process
  int64_t server_bytes = 0;
};

// Of the experiment's model on its data set. InvalidArgument: there is no such model.
absl::StatusOr<ModelOutline> OutlineOf(const v1::Experiment& experiment);

// Threads are cluster.threads, or the share of `cores` where that is auto; at least 1.
//
// The estimate of memory: a server holds (k + 8) copies of its share of the model (2 (N - 1) more in
// deterministic mode); a worker the data set, ten vectors of the model's size and what backward needs of each
// layer; and both the libraries. InvalidArgument: there is no such model.
absl::StatusOr<RunPlan> MakeRunPlan(const v1::Experiment& experiment, int64_t cores);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_RUN_PLAN_H_
