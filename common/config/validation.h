// What no option can tell alone: how options fit each other.
#ifndef SSD_COMMON_CONFIG_VALIDATION_H_
#define SSD_COMMON_CONFIG_VALIDATION_H_

#include <string>

#include "absl/status/status.h"
#include "common/config/error_list.h"
#include "common/config/loaded_experiment.h"

namespace ssd {

// Adds an error, where the value was given, for each thing that does not fit. Leaves out what rests on a
// value that has an error already.
void ValidateExperiment(const LoadedExperiment& loaded, ErrorList* errors);

// Whether this is host:port (an IPv6 host in brackets) or unix:/path. InvalidArgument says what is wrong with
// it.
absl::Status ValidateAddress(const std::string& address);

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_VALIDATION_H_
