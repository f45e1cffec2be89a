// Puts layers of settings on top of each other: the defaults, the text of files, and --set.
//
// Strict: every key must exist, stand once, and have a value that its rules allow (value.h). Nothing is
// skipped in silence, and one pass reports all errors. An option that fails keeps the value of the layer
// below.
#ifndef SSD_COMMON_CONFIG_YAML_LOADER_H_
#define SSD_COMMON_CONFIG_YAML_LOADER_H_

#include <string>

#include "common/config/error_list.h"
#include "common/config/loaded_experiment.h"

namespace ssd {

// The experiment of an empty file.
LoadedExperiment DefaultExperiment();

// Adds the settings of a YAML text. `name` is what errors call it; `layer` numbers it, from 1.
void ApplyYaml(const std::string& name, const std::string& text, int layer, LoadedExperiment* loaded,
               ErrorList* errors);

// Adds one setting, "optimizer.lr=0.2". What follows the = is taken as it is, without quotes or escapes; only
// a list is read as YAML: "cluster.addresses=[10.0.0.1:7000, 10.0.0.2:7000]".
void ApplyOverride(const std::string& setting, int layer, LoadedExperiment* loaded, ErrorList* errors);

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_YAML_LOADER_H_
