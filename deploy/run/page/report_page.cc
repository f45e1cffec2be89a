#include "deploy/run/page/report_page.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/exit_code.h"
#include "deploy/run/exit_meaning.h"
#include "deploy/run/page/figure_text.h"
#include "deploy/run/page/html_table.h"
#include "deploy/run/page/option_table.h"
#include "deploy/run/page/progress_charts.h"
#include "deploy/run/page/run_figures.h"
#include "deploy/run/page/series_style.h"
#include "deploy/run/page/time_bars.h"

namespace ssd {

extern const char kReportStyle[];  // style.css, embedded by CMake

namespace {

constexpr size_t kMaxRunsAsColumns = 4;  // of the table of options; more runs are its rows

std::string State(const RunRecord& run) {
  if (!run.exit_code.has_value()) return "going on, or killed";
  if (*run.exit_code == kExitDone) return "done";
  return absl::StrCat("exit code ", *run.exit_code, ", ", ExitMeaning(*run.exit_code));
}

// The run's name with a piece of its line.
std::string Named(std::span<const RunRecord> runs, size_t i) {
  return absl::StrCat(SeriesKey(static_cast<int>(i)), " ", MarkupText(runs[i].label));
}

std::string Section(const char* title, const std::string& content) {
  return absl::StrCat("<section><h2>", title, "</h2>\n", content, "</section>\n");
}

std::string Legend(std::span<const RunRecord> runs) {
  std::string html = "<ul class=\"legend\">";
  for (size_t i = 0; i < runs.size(); ++i) absl::StrAppend(&html, "<li>", Named(runs, i), "</li>\n");
  return absl::StrCat(html, "</ul>\n");
}

std::string Summary(std::span<const RunRecord> runs, const std::vector<RunFigures>& figures) {
  HtmlTable table{.caption =
                      "Every figure is of metrics.jsonl. Speed and waiting are those of training, "
                      "evaluations left out.",
                  .columns = {"Run", "State", "Steps", "Epochs", "Last accuracy", "Best accuracy",
                              "Training loss", "Wall time", "Samples/s", "Moved", "Waiting"}};
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunFigures& run = figures[i];
    std::string best = kUnknownFigure;
    if (run.best_test.has_value()) {
      best = absl::StrCat(PercentText(run.best_test->accuracy), " <small>at epoch ",
                          NumberText(run.best_test->epoch, 2), "</small>");
    }
    table.rows.push_back(
        {Named(runs, i), MarkupText(State(runs[i])), absl::StrCat(run.steps), NumberText(run.epochs, 2),
         run.last_test.has_value() ? PercentText(run.last_test->accuracy) : kUnknownFigure, best,
         NumberText(run.train_loss, 4), WallTimeText(run.wall_seconds), NumberText(run.samples_per_second, 1),
         BytesText(run.bytes_pushed + run.bytes_pulled), PercentText(run.wait_fraction)});
  }
  return RenderTable(table);
}

std::string TimeSplit(std::span<const RunRecord> runs, const std::vector<RunFigures>& figures) {
  std::vector<TimeBar> bars;
  HtmlTable table{.caption = "Mean milliseconds of one step of one worker, and the part of their sum.",
                  .columns = {"Run"}};
  for (const TimePhase& phase : TimePhases()) table.columns.emplace_back(phase.name);
  table.columns.emplace_back("sum");
  for (size_t i = 0; i < runs.size(); ++i) {
    const StepTimes& times = figures[i].step_times;
    bars.push_back({runs[i].label, times});
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(Named(runs, i));
    for (const TimePhase& phase : TimePhases()) {
      const double seconds = times.*phase.seconds;
      row.push_back(absl::StrCat(NumberText(1000 * seconds, 2), " <small>", PercentText(seconds / Sum(times)),
                                 "</small>"));
    }
    row.push_back(NumberText(1000 * Sum(times), 2));
  }
  const std::string drawing = RenderTimeBars(bars);
  if (drawing.empty()) return "<p class=\"note\">No report yet.</p>\n";
  std::string legend = "<ul class=\"legend\">";
  for (size_t i = 0; i < TimePhases().size(); ++i)
    absl::StrAppend(&legend, "<li>", PhaseKey(i), " ", TimePhases()[i].name, "</li>\n");
  return absl::StrCat(legend, "</ul>\n", drawing, RenderTable(table));
}

std::string Differences(std::span<const RunRecord> runs) {
  const OptionTable options = DifferingOptions(runs);
  if (options.names.empty()) return "<p class=\"note\">The runs have the same options.</p>\n";
  const auto value_of = [&options](size_t run, size_t option) -> std::string {
    const std::vector<std::optional<std::string>>& values = options.values[run];
    if (values.empty()) return "?";
    return values[option].has_value() ? absl::StrCat("<code>", MarkupText(*values[option]), "</code>")
                                      : kUnknownFigure;
  };
  HtmlTable table{.caption = absl::StrCat(
                      "What is not alike in all runs, but for names, folders and addresses. ", kUnknownFigure,
                      ": without effect in this run; ?: its config.resolved.yaml is missing or damaged.")};
  if (runs.size() <= kMaxRunsAsColumns) {
    table.columns = {"Option"};
    for (const RunRecord& run : runs) table.columns.push_back(run.label);
    for (size_t option = 0; option < options.names.size(); ++option) {
      std::vector<std::string>& row = table.rows.emplace_back();
      row.push_back(MarkupText(options.names[option]));
      for (size_t run = 0; run < runs.size(); ++run) row.push_back(value_of(run, option));
    }
  } else {
    table.columns = {"Run"};
    table.columns.insert(table.columns.end(), options.names.begin(), options.names.end());
    for (size_t run = 0; run < runs.size(); ++run) {
      std::vector<std::string>& row = table.rows.emplace_back();
      row.push_back(Named(runs, run));
      for (size_t option = 0; option < options.names.size(); ++option) row.push_back(value_of(run, option));
    }
  }
  return RenderTable(table);
}

std::string Evaluations(std::span<const RunRecord> runs) {
  std::string html;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].test.empty()) continue;
    HtmlTable table{.caption = "Evaluations on the test set.",
                    .columns = {"Epoch", "Step", "Accuracy", "Correct", "Loss", "Wall time", "Moved"}};
    for (const TestRecord& test : runs[i].test) {
      table.rows.push_back({NumberText(test.epoch, 2), absl::StrCat(test.step), PercentText(test.accuracy),
                            absl::StrCat(test.correct, " of ", test.total), NumberText(test.loss, 4),
                            WallTimeText(test.elapsed), BytesText(test.bytes_pushed + test.bytes_pulled)});
    }
    absl::StrAppend(&html, "<details><summary>", Named(runs, i), "</summary>\n", RenderTable(table),
                    "</details>\n");
  }
  return html.empty() ? "<p class=\"note\">No evaluation yet.</p>\n" : html;
}

}  // namespace

std::string RenderReportPage(std::span<const RunRecord> runs) {
  std::vector<RunFigures> figures;
  for (const RunRecord& run : runs) figures.push_back(FiguresOf(run));
  const std::string title = runs.size() == 1 ? MarkupText(runs[0].label) : absl::StrCat(runs.size(), " runs");
  const std::string legend = runs.size() == 1 ? "" : Legend(runs);
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>ssd-run: ",
      title, "</title>\n<style>\n", kReportStyle, "</style>\n</head>\n<body>\n", MarkerSymbols(),
      TimePatterns(), "<main>\n<h1>", title, "</h1>\n", Section("Summary", Summary(runs, figures)),
      Section("Test accuracy", legend + RenderAccuracyCharts(runs)),
      Section("Training loss", legend + RenderLossCharts(runs)),
      Section("Time of a step", TimeSplit(runs, figures)),
      runs.size() == 1 ? "" : Section("Options that differ", Differences(runs)),
      Section("Evaluations", Evaluations(runs)), "</main>\n</body>\n</html>\n");
}

}  // namespace ssd
