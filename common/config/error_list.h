// Collects what is wrong with a configuration, so that a user sees all of it at once.
#ifndef SSD_COMMON_CONFIG_ERROR_LIST_H_
#define SSD_COMMON_CONFIG_ERROR_LIST_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ssd {

// Not thread-safe.
class ErrorList {
 public:
  // `place` is where a person has to look: "experiment.yaml:14:3" or "--set optimizer.lr=abc". Beyond the
  // first hundred, errors are only counted: a file of garbage would otherwise bury the reader.
  void Add(const std::string& place, const std::string& message);

  // The same, and remembers that `option` has no usable value, so that no check on top of it adds a
  // consequence.
  void AddFor(const std::string& option, const std::string& place, const std::string& message);
  bool HasErrorFor(const std::string& option) const { return options_.count(option) != 0; }

  bool empty() const { return lines_.empty(); }
  // InvalidArgument with one line an error, "place: message"; OK when there is none.
  absl::Status ToStatus() const;

 private:
  std::vector<std::string> lines_;
  std::set<std::string> options_;
  int64_t left_out_ = 0;
};

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_ERROR_LIST_H_
