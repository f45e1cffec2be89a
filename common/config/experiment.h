// Experiment files: loading, printing, and what of them the processes of a run compare.
//
//   ASSIGN_OR_RETURN(const LoadedExperiment loaded, LoadExperiment(files, overrides, Disk::Real()));
//   if (flags.IsOn("print_config")) std::fputs(PrintConfig(loaded).c_str(), stdout);
//
// Precedence, the later wins: defaults, files from left to right, --set from left to right.
// docs/configuration.md tells users all of it. Pure functions but for the reading of files.
#ifndef SSD_COMMON_CONFIG_EXPERIMENT_H_
#define SSD_COMMON_CONFIG_EXPERIMENT_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/loaded_experiment.h"
#include "common/io/disk.h"

namespace ssd {

// InvalidArgument where something is wrong, a missing file included; the message has one line for each error,
// such as `experiment.yaml:14:3: unknown key "optimizer.learning_rat"; did you mean "lr"?`.
absl::StatusOr<LoadedExperiment> LoadExperiment(std::span<const std::string> files,
                                                std::span<const std::string> overrides, Disk& disk);

// The same for one text in memory; `name` is what errors and origins call it.
absl::StatusOr<LoadedExperiment> LoadExperimentText(const std::string& name, const std::string& text,
                                                    std::span<const std::string> overrides);

// The resolved file: every option with its value and, as a comment, its origin. Loading it gives the same
// experiment. Options without effect beside the others (`sync.k` under ssgd) are comments, as giving them
// would be an error.
std::string PrintConfig(const LoadedExperiment& loaded);

// Dotted name and value of every option that all processes must agree on (all but the schema's `local` ones),
// in the schema's order. Equal experiments give equal texts. A value left to `auto` is "auto": what it stands
// for follows from the other options and the model.
std::vector<std::pair<std::string, std::string>> AgreedFields(const v1::Experiment& experiment);

// The first step at or after a point of training: iterations as they are, epochs rounded up,
//   ceil(epochs * steps_per_epoch - 1e-9)
// where the 1e-9 takes back what a product such as 0.1 * 30 = 3.0000000000000004 is too large by. 0 for an
// unset time. An epoch is seldom a whole number of steps. REQUIRES: steps_per_epoch > 0.
int64_t ResolveSteps(const v1::TrainingTime& time, double steps_per_epoch);

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_EXPERIMENT_H_
