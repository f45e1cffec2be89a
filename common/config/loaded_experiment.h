// An experiment with all its values, and where each of them came from.
#ifndef SSD_COMMON_CONFIG_LOADED_EXPERIMENT_H_
#define SSD_COMMON_CONFIG_LOADED_EXPERIMENT_H_

#include <map>
#include <string>

#include "ssd/v1/experiment.pb.h"

namespace ssd {

// Who gave a value.
struct Origin {
  int layer = 0;                  // 0: the default; 1, 2, ...: the files; then all of --set together
  std::string label = "default";  // for people: "default", "experiment.yaml:14" or "--set"
  std::string place{};            // what an error about the value starts with: "experiment.yaml:14:3"

  bool given() const { return layer != 0; }
};

// A value type.
struct LoadedExperiment {
  v1::Experiment proto;  // every field has its value; a field that may be `auto`, and is, is absent
  // By option, "optimizer.lr", with an entry for each; the elements of a list that was given have theirs too,
  // "cluster.addresses[0]".
  std::map<std::string, Origin> origins;
};

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_LOADED_EXPERIMENT_H_
