// How a run ended: for people, and as summary.json.
#ifndef SSD_DEPLOY_RUN_REPORT_H_
#define SSD_DEPLOY_RUN_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "deploy/run/metrics_tail.h"
#include "deploy/run/supervisor.h"

namespace ssd {

// A value type; all of it is known when the last child has ended, or a child could not be started.
struct RunResult {
  std::string name;  // of the experiment
  uint64_t seed = 0;
  std::vector<std::string> command;    // ssd-run's own command line
  std::vector<std::string> overrides;  // --set
  std::string directory;
  std::vector<std::string> children;  // their names, by index: "server-0", "worker-0", ...
  std::vector<ChildEnding> endings;   // in the order in which they were seen
  Supervisor::Outcome outcome;
  std::string start_error;  // a child could not be started; then nothing of outcome but the code holds
  absl::Duration wall;
  std::optional<TrainRecord> train;  // the last records
  std::optional<TestRecord> test;
  std::string model_path;  // empty: there is none
};

// The log of a child.
std::string LogPath(const std::string& directory, const std::string& child);

// One line without its end: what happened, in which process, and what that process said of it. Reads its log.
std::string Reason(const RunResult& result);

// Lines for standard output: accuracy, model, folder, what to try next. `program`: how the user called
// ssd-run.
std::string RenderResult(const RunResult& result, const std::string& program);
// Lines for standard error: the reason, the end of the first failed process's log, how the others ended.
// Empty where there is nothing to explain.
std::string RenderFailure(const RunResult& result);
// Strict JSON; docs/run_folder.md explains the fields.
std::string SummaryJson(const RunResult& result);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_REPORT_H_
