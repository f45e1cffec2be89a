// How a process ends. docs/exit_codes.md explains each to users.
#ifndef SSD_COMMON_EXIT_CODE_H_
#define SSD_COMMON_EXIT_CODE_H_

#include <string>

namespace ssd {

enum ExitCode : int {
  kExitDone = 0,
  kExitInternal = 1,
  kExitUsage = 2,           // usage, configuration, address in use
  kExitData = 3,            // training data missing or malformed
  kExitDiverged = 4,        // a non-finite loss or gradient
  kExitIncompatible = 5,    // checkpoint or model file incompatible or corrupt
  kExitStorage = 6,         // disk full, not writable
  kExitInterrupted = 130,   // SIGINT
  kExitTerminated = 143,    // SIGTERM
  kExitPeerLost = 200,
  kExitRendezvousTimeout = 201,
  kExitFenced = 202,        // a newer incarnation of this worker took over; not to be retried
};

// Why a run ends: for the last line of the log, for the peers' goodbye, and for exit().
struct Ending {
  int code = kExitDone;
  std::string message;  // names what happened, who, and at which step; empty for kExitDone
};

}  // namespace ssd

#endif  // SSD_COMMON_EXIT_CODE_H_
