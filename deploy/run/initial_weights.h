// The file that an experiment's training starts from, looked at before anything starts.
#ifndef SSD_DEPLOY_RUN_INITIAL_WEIGHTS_H_
#define SSD_DEPLOY_RUN_INITIAL_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/io/disk.h"
#include "ssd/v1/experiment.pb.h"

namespace ssd {

// What every worker would find in model.weights, told once: lines for the banner, none where training starts
// from random weights. Fails as ReadModel does, for which there is ModelFileExitCode.
absl::StatusOr<std::vector<std::string>> CheckInitialWeights(const v1::Experiment& experiment, Disk& disk);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_INITIAL_WEIGHTS_H_
