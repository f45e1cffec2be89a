#include "deploy/run/exit_meaning.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/exit_code.h"

namespace ssd {

std::string ExitMeaning(int code) {
  switch (code) {
    case kExitDone:
      return "done";
    case kExitInternal:
      return "internal error";
    case kExitUsage:
      return "usage or configuration error, or an address in use";
    case kExitData:
      return "training data missing or malformed";
    case kExitDiverged:
      return "training diverged";
    case kExitIncompatible:
      return "model or checkpoint file incompatible or corrupt";
    case kExitStorage:
      return "local storage full or not writable";
    case kExitInterrupted:
      return "interrupted (SIGINT)";
    case kExitTerminated:
      return "terminated (SIGTERM)";
    case kExitPeerLost:
      return "another process of the run was lost";
    case kExitRendezvousTimeout:
      return "not all processes of the run arrived in time";
    case kExitFenced:
      return "a newer process took over this worker's place";
    default:
      break;
  }
  if (code > 128 && code < 128 + 65) {
    const char* name = ::sigdescr_np(code - 128);
    return absl::StrCat("ended by signal ", code - 128, " (", name == nullptr ? "?" : name, ")");
  }
  return absl::StrCat("unknown exit code ", code);
}

}  // namespace ssd
