// Under which name each number of a line of metrics stands in TensorBoard.
#ifndef SSD_COMMON_METRICS_SCALAR_TAGS_H_
#define SSD_COMMON_METRICS_SCALAR_TAGS_H_

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/io/event_file.h"

namespace ssd {

struct ScalarTag {
  const char* split;  // "train" or "test": the kind of line
  const char* field;  // a JSON pointer into it: "/time/wait"
  const char* tag;    // "time/wait"
};

// All that there are. Thread-safe: constant.
std::span<const ScalarTag> ScalarTags();

// The numbers of `line` that have a tag, in the tags' order; those that are null or missing are left out, and
// so is what has no tag (counts that others follow from, times of day). A pure function.
std::vector<Scalar> ScalarsOf(const nlohmann::ordered_json& line);

}  // namespace ssd

#endif  // SSD_COMMON_METRICS_SCALAR_TAGS_H_
