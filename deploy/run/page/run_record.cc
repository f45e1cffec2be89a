#include "deploy/run/page/run_record.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/config/yaml_tree.h"

namespace ssd {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

// Options that another version knew are fine here, so this is no LoadExperiment.
void Flatten(const YamlNode& node, const std::string& name, Options* options) {
  if (node.kind == YamlNode::Kind::kMap) {
    for (const YamlEntry& entry : node.entries) {
      Flatten(entry.value, name.empty() ? entry.key.text : absl::StrCat(name, ".", entry.key.text), options);
    }
  } else if (node.kind == YamlNode::Kind::kSequence) {
    std::vector<std::string> elements;
    for (const YamlNode& element : node.elements) elements.push_back(element.text);
    options->emplace_back(name, absl::StrCat("[", absl::StrJoin(elements, ", "), "]"));
  } else if (node.kind == YamlNode::Kind::kScalar) {
    options->emplace_back(name, node.text);
  }  // kNull: a section whose options are all without effect
}

Options ReadOptions(const std::string& path, Disk& disk) {
  Options options;
  const absl::StatusOr<std::string> text = disk.ReadFile(path);
  if (!text.ok()) return options;
  ErrorList errors;
  const std::optional<YamlNode> root = ParseYaml(path, *text, &errors);
  if (root.has_value() && root->kind == YamlNode::Kind::kMap) Flatten(*root, "", &options);
  return options;
}

std::optional<int> ReadExitCode(const std::string& path, Disk& disk) {
  const absl::StatusOr<std::string> text = disk.ReadFile(path);
  if (!text.ok()) return std::nullopt;
  const auto summary = nlohmann::json::parse(*text, /*callback=*/nullptr, /*allow_exceptions=*/false);
  if (!summary.is_object()) return std::nullopt;
  const auto code = summary.find("exit_code");
  if (code == summary.end() || !code->is_number_integer()) return std::nullopt;
  return code->get<int>();
}

void ReadMetrics(const std::string& path, RunRecord* run) {
  for (MetricsRecord& record : MetricsTail(path).Poll()) {
    if (auto* start = std::get_if<StartRecord>(&record)) run->start = *start;
    if (auto* train = std::get_if<TrainRecord>(&record)) run->train.push_back(*train);
    if (auto* test = std::get_if<TestRecord>(&record)) run->test.push_back(*test);
  }
  if (!run->start.has_value()) return;
  const auto complete = [&](auto& records) {
    for (auto& record : records) {
      if (!std::isfinite(record.elapsed)) record.elapsed = record.time - run->start->time;
    }
  };
  complete(run->train);
  complete(run->test);
}

// The last `parts` parts of a path.
std::string End(const std::string& folder, size_t parts) {
  std::vector<std::string> all = absl::StrSplit(folder, '/', absl::SkipEmpty());
  if (all.size() <= parts) return folder;
  return absl::StrJoin(all.end() - static_cast<ptrdiff_t>(parts), all.end(), "/");
}

}  // namespace

absl::StatusOr<RunRecord> ReadRunRecord(const std::string& folder, Disk& disk) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": there is no such folder"));
  }
  const auto path = [&folder](const char* name) { return absl::StrCat(folder, "/", name); };
  const auto names = {"metrics.jsonl", "config.resolved.yaml", "summary.json"};
  if (std::none_of(names.begin(), names.end(),
                   [&](const char* name) { return std::filesystem::exists(path(name), error); })) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": not the folder of a run: it has no ",
                                                   absl::StrJoin(names, ", "),
                                                   "; want one such as runs/quickstart/001"));
  }
  RunRecord run{.folder = folder, .label = End(folder, 2)};
  ReadMetrics(path("metrics.jsonl"), &run);
  run.options = ReadOptions(path("config.resolved.yaml"), disk);
  run.exit_code = ReadExitCode(path("summary.json"), disk);
  return run;
}

void LabelRuns(std::span<RunRecord> runs) {
  for (RunRecord& run : runs) {
    const auto is_shared = [&](size_t parts) {
      return std::any_of(runs.begin(), runs.end(), [&](const RunRecord& other) {
        return &other != &run && End(other.folder, parts) == End(run.folder, parts);
      });
    };
    size_t parts = 2;
    while (is_shared(parts) && End(run.folder, parts) != run.folder) ++parts;
    run.label = End(run.folder, parts);
  }
}

}  // namespace ssd
