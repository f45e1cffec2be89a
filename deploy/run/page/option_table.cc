#include "deploy/run/page/option_table.h"

#include <algorithm>
#include <set>

namespace ssd {
namespace {

const std::set<std::string>& PlaceOptions() {
  static const auto& names =
      *new std::set<std::string>{"name", "data.path", "cluster.addresses", "output.directory"};
  return names;
}

std::optional<std::string> ValueOf(const RunRecord& run, const std::string& name) {
  for (const auto& [option, value] : run.options) {
    if (option == name) return value;
  }
  return std::nullopt;
}

}  // namespace

OptionTable DifferingOptions(std::span<const RunRecord> runs) {
  // The order is that of the first run, and an option that it lacks comes after the one before it in its own
  // file.
  std::vector<std::string> names;
  for (const RunRecord& run : runs) {
    auto place = names.begin();
    for (const auto& [name, value] : run.options) {
      const auto known = std::find(names.begin(), names.end(), name);
      place = known != names.end() ? known + 1 : names.insert(place, name) + 1;
    }
  }
  OptionTable table;
  for (const std::string& name : names) {
    std::set<std::optional<std::string>> values;
    for (const RunRecord& run : runs) {
      if (!run.options.empty()) values.insert(ValueOf(run, name));
    }
    if (values.size() > 1 && !PlaceOptions().contains(name)) table.names.push_back(name);
  }
  for (const RunRecord& run : runs) {
    std::vector<std::optional<std::string>>& row = table.values.emplace_back();
    if (run.options.empty()) continue;
    for (const std::string& name : table.names) row.push_back(ValueOf(run, name));
  }
  return table;
}

}  // namespace ssd
