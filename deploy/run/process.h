// Starting a child process that cannot outlive its launcher.
#ifndef SSD_DEPLOY_RUN_PROCESS_H_
#define SSD_DEPLOY_RUN_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ssd {

struct Command {
  std::vector<std::string> arguments;                // [0] is the program's path
  std::map<std::string, std::string> environment{};  // on top of this process's own
  std::string log_path{};                            // gets standard output and standard error, appended
};

// Starts `command` and returns its process id once the program runs (after a successful exec, not only a
// fork).
//
// The child leads a process group of its own, so that a terminal's Ctrl-C does not reach it; has default
// signal handling and no blocked signals; reads /dev/null; and is killed by the kernel when the thread that
// called Spawn ends, however it ends. So Spawn is called from the main thread only: the death signal is tied
// to the thread.
//
// ResourceExhausted, PermissionDenied, NotFound, Unknown as Disk says: the log cannot be opened.
// FailedPrecondition: the program cannot be run; names it and the system's reason.
// Internal: there is no process or pipe to be had.
absl::StatusOr<pid_t> Spawn(const Command& command);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_PROCESS_H_
