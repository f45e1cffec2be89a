// What a run's folder tells of it, also while the run goes on or after it was killed.
#ifndef SSD_DEPLOY_RUN_PAGE_RUN_RECORD_H_
#define SSD_DEPLOY_RUN_PAGE_RUN_RECORD_H_

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/io/disk.h"
#include "deploy/run/metrics_tail.h"

namespace ssd {

// A value type.
struct RunRecord {
  std::string folder;  // as it was named
  std::string label;   // for people; see LabelRuns
  std::optional<StartRecord> start;
  std::vector<TrainRecord> train;  // in the file's order
  std::vector<TestRecord> test;
  // Of config.resolved.yaml: dotted name and value of the options that have an effect, in the file's order.
  // Empty: the file is not there or no YAML.
  std::vector<std::pair<std::string, std::string>> options;
  std::optional<int> exit_code;  // of summary.json; none: the run goes on, or was killed
};

// Reads metrics.jsonl, config.resolved.yaml and summary.json of `folder`; what is missing or damaged is left
// out. Where a record has no `elapsed`, it is the time since the start line's `ts`. InvalidArgument: there is
// no such folder, or none of the three files in it; names it.
absl::StatusOr<RunRecord> ReadRunRecord(const std::string& folder, Disk& disk);

// Gives each run the shortest end of its folder's path, of two parts ("quickstart/001") or more, that no
// other has.
void LabelRuns(std::span<RunRecord> runs);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_PAGE_RUN_RECORD_H_
