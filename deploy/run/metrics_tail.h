// Reads metrics.jsonl while another process appends to it.
#ifndef SSD_DEPLOY_RUN_METRICS_TAIL_H_
#define SSD_DEPLOY_RUN_METRICS_TAIL_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace ssd {

// The file's three kinds of lines; docs/run_folder.md explains each field. A number that is missing or null
// is NaN or 0.
struct StartRecord {
  int64_t steps = 0;
  double steps_per_epoch = 0;
  int64_t global_batch = 0;
};
struct TrainRecord {
  int64_t step = 0;  // steps done
  double epoch = 0;
  double loss = 0;      // mean since the last record, as is all below
  double accuracy = 0;  // 0..1
  double learning_rate = 0;
  double samples_per_second = 0;  // of the whole cluster
  double wait_fraction = 0;       // 0..1
};
struct TestRecord {
  int64_t step = 0;
  double epoch = 0;
  double loss = 0;
  double accuracy = 0;  // 0..1
  int64_t correct = 0;
  int64_t total = 0;
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
