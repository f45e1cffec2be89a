// An experiment in the cores' terms: the options of the schedule, the rates and the updates, in steps.
#ifndef SSD_COMMON_CONFIG_TRAINING_PLAN_H_
#define SSD_COMMON_CONFIG_TRAINING_PLAN_H_

#include <cstdint>
#include <optional>

#include "common/learning_rate.h"
#include "common/local_update_options.h"
#include "common/optimizer.h"
#include "common/sync_schedule.h"
#include "ssd/v1/experiment.pb.h"

namespace ssd {

// A value type; a pure function of the experiment and the number of training samples, so that servers and
// workers compute the same one.
struct TrainingPlan {
  double steps_per_epoch = 1;  // samples / (N B)
  SyncScheduleOptions schedule;
  LearningRateOptions learning_rate;
  OptimizerOptions optimizer;
  std::optional<LocalUpdateOptions> local_update;  // none under ssgd
  double report_interval = 1;                      // steps between two reports
};

// REQUIRES: a loaded (so valid) experiment, samples >= 1.
TrainingPlan MakeTrainingPlan(const v1::Experiment& experiment, int64_t samples_per_epoch);

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_TRAINING_PLAN_H_
