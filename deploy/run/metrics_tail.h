// Reads metrics.jsonl while another process appends to it.
#ifndef SSD_DEPLOY_RUN_METRICS_TAIL_H_
#define SSD_DEPLOY_RUN_METRICS_TAIL_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace ssd {

// Mean seconds of one step of one worker.
struct StepTimes {
  double data = 0, compute = 0, local_update = 0, push = 0, wait = 0;
};

// The file's three kinds of lines; docs/run_folder.md explains each field. A number that is missing or null
// is NaN or 0.
struct StartRecord {
  double time = 0;  // wall time, seconds since 1970
  int64_t steps = 0;
  double steps_per_epoch = 0;
  int64_t global_batch = 0;
};
struct TrainRecord {
  double time = 0;
  double elapsed = 0;  // seconds since the start line
  int64_t step = 0;    // steps done
  double epoch = 0;
  double loss = 0;      // mean since the last record, as is all below but samples and bytes
  double accuracy = 0;  // 0..1
  double learning_rate = 0;
  int64_t samples = 0;            // all so far
  double samples_per_second = 0;  // of the whole cluster
  double wait_fraction = 0;       // 0..1
  double bytes_pushed = 0;        // all so far, of all workers
  double bytes_pulled = 0;
  StepTimes step_times{};
};
struct TestRecord {
  double time = 0;
  double elapsed = 0;
  int64_t step = 0;
  double epoch = 0;
  double loss = 0;
  double accuracy = 0;  // 0..1
  int64_t correct = 0;
  int64_t total = 0;
  double bytes_pushed = 0;
  double bytes_pulled = 0;
};
using MetricsRecord = std::variant<StartRecord, TrainRecord, TestRecord>;

// Not thread-safe. Opens the file for each Poll, so it may come into being later.
class MetricsTail {
 public:
  explicit MetricsTail(std::string path) : path_(std::move(path)) {}

  // The records of the lines that were completed since the last call, in order. A line that is not complete
  // yet waits; one that is no record of these kinds (a later version's, or damaged) is passed over.
  std::vector<MetricsRecord> Poll();

 private:
  const std::string path_;
  int64_t offset_ = 0;   // bytes read so far
  std::string partial_;  // the line under way
};

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_METRICS_TAIL_H_
