#include "deploy/run/report.h"

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/exit_code.h"
#include "common/version.h"
#include "deploy/run/display.h"
#include "deploy/run/exit_meaning.h"
#include "deploy/run/log_tail.h"

namespace ssd {
namespace {

constexpr int kShownLogLines = 10;

std::string WithMeaning(int code) { return absl::StrCat("exit code ", code, ", ", ExitMeaning(code)); }

const char* SignalName(int signal) {
  switch (signal) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    default:
      return "SIGHUP";
  }
}

}  // namespace

std::string LogPath(const std::string& directory, const std::string& child) {
  return absl::StrCat(directory, "/", child, ".log");
}

std::string Reason(const RunResult& result) {
  if (!result.start_error.empty()) return result.start_error;
  const Supervisor::Outcome& outcome = result.outcome;
  if (outcome.first.has_value()) {
    const std::string& child = result.children[outcome.first->child];
    const std::string said = EndingMessage(LastLines(LogPath(result.directory, child), kShownLogLines));
    return absl::StrCat(child, " failed: ", WithMeaning(outcome.code), said.empty() ? "" : ": ", said);
  }
  if (outcome.hung) return "the workers are done, but a server did not end and was stopped";
  if (outcome.signal != 0 && outcome.code != kExitDone)
    return absl::StrCat("stopped by ", SignalName(outcome.signal));
  return "done";
}

std::string RenderResult(const RunResult& result, const std::string& program) {
  const std::string word = result.outcome.code == kExitDone ? "done" : "ended";
  std::string text = absl::StrCat(word, " after ", RenderDuration(result.wall));
  if (result.test.has_value()) {
    absl::StrAppend(&text, absl::StrFormat(": test accuracy %.2f%% (%d of %d)", 100 * result.test->accuracy,
                                           result.test->correct, result.test->total));
    if (result.outcome.code != kExitDone) absl::StrAppend(&text, " at step ", result.test->step);
  }
  if (!result.model_path.empty()) absl::StrAppend(&text, "\n  model       ", result.model_path);
  absl::StrAppend(&text, "\n  run folder  ", result.directory);
  if (!result.model_path.empty()) {
    absl::StrAppend(&text, "\n  next        ", program, " --evaluate ", result.model_path);
  }
  return text;
}

std::string RenderFailure(const RunResult& result) {
  if (result.outcome.code == kExitDone) return "";
  std::string text = absl::StrCat("error: ", Reason(result));
  if (result.outcome.first.has_value()) {
    const std::string log = LogPath(result.directory, result.children[result.outcome.first->child]);
    const std::vector<std::string> lines = LastLines(log, kShownLogLines);
    absl::StrAppend(&text, "\n  ", lines.empty() ? "nothing in " : "the end of ", log);
    for (const std::string& line : lines) absl::StrAppend(&text, "\n  | ", line);
  }
  for (const ChildEnding& ending : result.endings) {
    // Not the one that was shown, nor those that did as they were asked.
    const bool is_told = result.outcome.first.has_value() ? ending.child == result.outcome.first->child
                                                          : ending.code == result.outcome.code;
    if (ending.code == kExitDone || is_told) continue;
    absl::StrAppend(&text, "\n  ", result.children[ending.child], ": ", WithMeaning(ending.code));
  }
  return text;
}

std::string SummaryJson(const RunResult& result) {
  nlohmann::ordered_json summary;
  summary["name"] = result.name;
  summary["exit_code"] = result.outcome.code;
  summary["reason"] = Reason(result);
  summary["wall_seconds"] = absl::ToDoubleSeconds(result.wall);
  summary["steps"] =
      std::max(result.train.value_or(TrainRecord{}).step, result.test.value_or(TestRecord{}).step);
  // null: there was no evaluation, no report.
  const auto known = [](bool is_known, auto value) {
    return is_known ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
  };
  const TestRecord test = result.test.value_or(TestRecord{});
  const TrainRecord train = result.train.value_or(TrainRecord{});
  summary["accuracy"] = known(result.test.has_value(), test.accuracy);
  summary["loss"] = known(result.test.has_value(), test.loss);
  summary["correct"] = known(result.test.has_value(), test.correct);
  summary["total"] = known(result.test.has_value(), test.total);
  summary["train_accuracy"] = known(result.train.has_value(), train.accuracy);
  summary["train_loss"] = known(result.train.has_value(), train.loss);
  summary["model"] = known(!result.model_path.empty(), result.model_path);
  summary["seed"] = result.seed;
  nlohmann::ordered_json processes = nlohmann::ordered_json::array();
  for (const ChildEnding& ending : result.endings) {
    processes.push_back({{"name", result.children[ending.child]}, {"exit_code", ending.code}});
  }
  summary["processes"] = processes;
  summary["version"] = ProgramVersion();
  nlohmann::ordered_json libraries = nlohmann::ordered_json::object();
  for (const auto& [library, version] : LibraryVersions()) libraries[library] = version;
  summary["libraries"] = libraries;
  summary["overrides"] = result.overrides;
  summary["command"] = result.command;
  // Whatever a file is called, the result is UTF-8; a number that is none becomes null.
  return summary.dump(2, ' ', /*ensure_ascii=*/false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace ssd
