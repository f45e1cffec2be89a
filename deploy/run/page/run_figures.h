// The numbers that sum a run up.
#ifndef SSD_DEPLOY_RUN_PAGE_RUN_FIGURES_H_
#define SSD_DEPLOY_RUN_PAGE_RUN_FIGURES_H_

#include <cstdint>
#include <optional>

#include "deploy/run/page/run_record.h"

namespace ssd {

// A value type. What is not known is NaN or none.
struct RunFigures {
  int64_t steps = 0;  // of the last record
  double epochs = 0;
  std::optional<TestRecord> last_test;
  std::optional<TestRecord> best_test;  // the first of the most accurate ones
  double train_loss = 0;                // of the last report
  double wall_seconds = 0;              // from the start line to the last record
  double samples_per_second = 0;        // over all reports: evaluations are left out
  double wait_fraction = 0;             // the same
  double bytes_pushed = 0;              // by all workers, of the last record that has them
  double bytes_pulled = 0;
  StepTimes step_times;  // the mean over all steps that are reported
};

// A pure function.
//
//   samples_per_second = sum of samples / sum of T,  wait_fraction = sum of (wait_fraction T) / sum of T
//
// over the reports, with T = a report's samples / its samples_per_second, the wall time of its steps;
// step_times weights each report by its steps.
RunFigures FiguresOf(const RunRecord& run);

// data + compute + local_update + push + wait.
double Sum(const StepTimes& times);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_PAGE_RUN_FIGURES_H_
