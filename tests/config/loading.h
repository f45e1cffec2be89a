// Loads an experiment from a text in a test, and gives the errors one by one.
#ifndef SSD_TESTS_CONFIG_LOADING_H_
#define SSD_TESTS_CONFIG_LOADING_H_

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/config/experiment.h"

namespace ssd::testing {

inline absl::StatusOr<LoadedExperiment> Load(const std::string& text,
                                             const std::vector<std::string>& overrides = {}) {
  return LoadExperimentText("a.yaml", text, overrides);
}

inline std::vector<std::string> LinesOf(const absl::Status& status) {
  if (status.ok()) return {};
  return absl::StrSplit(status.message(), '\n');
}

// The lines of the error; none where the text loads.
inline std::vector<std::string> ErrorsOf(const std::string& text,
                                         const std::vector<std::string>& overrides = {}) {
  return LinesOf(Load(text, overrides).status());
}

}  // namespace ssd::testing

#endif  // SSD_TESTS_CONFIG_LOADING_H_
