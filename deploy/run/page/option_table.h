// The options in which runs differ.
#ifndef SSD_DEPLOY_RUN_PAGE_OPTION_TABLE_H_
#define SSD_DEPLOY_RUN_PAGE_OPTION_TABLE_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deploy/run/page/run_record.h"

namespace ssd {

// A value type.
struct OptionTable {
  std::vector<std::string> names;  // "sync.k", in the files' order
  // A row a run, with a value for each name; none: the option has no effect there. The row of a run whose
  // options are not known is empty.
  std::vector<std::vector<std::optional<std::string>>> values;
};

// Left out are options that say only where a run lies (its name, folders, addresses). A pure function.
OptionTable DifferingOptions(std::span<const RunRecord> runs);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_PAGE_OPTION_TABLE_H_
