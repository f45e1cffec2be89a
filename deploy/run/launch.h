// One run on this machine, from the experiment to the summary.
#ifndef SSD_DEPLOY_RUN_LAUNCH_H_
#define SSD_DEPLOY_RUN_LAUNCH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/loaded_experiment.h"

namespace ssd {

enum class Transport { kUnix, kTcp };

// The programs that a run consists of, as paths.
struct Programs {
  std::string server;
  std::string worker;
};

// ssd-server and ssd-worker beside this program's own executable. FailedPrecondition: one is missing; names
// it.
absl::StatusOr<Programs> FindPrograms();

struct LaunchOptions {
  LoadedExperiment experiment;
  std::vector<std::string> overrides;  // --set, for the summary
  std::vector<std::string> command;    // this program's own command line
  std::vector<std::string> weights;    // what CheckInitialWeights said, for the banner
  std::optional<Transport> transport;  // none: the experiment's addresses, or unix sockets where it has none
};

// Makes the run's folder, starts servers and workers, shows their progress, and writes summary.json. Returns
// the exit code; whatever went wrong is on standard error by then. REQUIRES: called once, on the main thread,
// with no other.
int Launch(const LaunchOptions& options);

// Code of a process that could not go on because of `status`: 2 for what the caller has to mend, 6 for files,
// else 1.
int ExitCodeOf(const absl::Status& status);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_LAUNCH_H_
