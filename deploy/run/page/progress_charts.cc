#include "deploy/run/page/progress_charts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "deploy/run/page/figure_text.h"
#include "deploy/run/page/line_chart.h"

namespace ssd {
namespace {

// One of the three: epochs, wall time, bytes.
enum class Against { kEpochs, kWallTime, kBytes };

struct Unit {
  const char* name;
  double size;
};

template <typename Record>
double Value(const Record& record, Against against) {
  switch (against) {
    case Against::kEpochs:
      return record.epoch;
    case Against::kWallTime:
      return record.elapsed;
    case Against::kBytes:
      return record.bytes_pushed + record.bytes_pulled;
  }
  return NAN;
}

const char* Name(Against against) {
  return against == Against::kEpochs ? "epochs" : against == Against::kWallTime ? "wall time" : "bytes moved";
}

// The one in which the largest value is a number of one to three digits before the point, or nearly.
Unit UnitFor(Against against, double largest) {
  static const std::vector<Unit> kTimes = {{"seconds", 1}, {"minutes", 60}, {"hours", 3600}};
  static const std::vector<Unit> kBytes = {{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};
  if (against == Against::kEpochs) return {"epochs", 1};
  const std::vector<Unit>& units = against == Against::kWallTime ? kTimes : kBytes;
  size_t i = 0;
  while (i + 1 < units.size() && largest >= 2 * units[i + 1].size) ++i;
  return units[i];
}

// `records` gives a run's records, `y` a record's value.
template <typename Records, typename Y>
std::string Charts(std::span<const RunRecord> runs, const char* what, const LineChart& look, Records records,
                   Y y) {
  std::string html;
  std::vector<std::string> without;  // runs whose records have no bytes
  for (const Against against : {Against::kEpochs, Against::kWallTime, Against::kBytes}) {
    double largest = 0;
    for (const RunRecord& run : runs) {
      for (const auto& record : records(run)) {
        if (const double value = Value(record, against); std::isfinite(value))
          largest = std::max(largest, value);
      }
    }
    const Unit unit = UnitFor(against, largest);
    LineChart chart = look;
    chart.title = absl::StrCat(what, " against ", Name(against));
    chart.x_label = against == Against::kEpochs ? unit.name : absl::StrCat(Name(against), ", ", unit.name);
    for (size_t i = 0; i < runs.size(); ++i) {
      ChartSeries series{.name = runs[i].label, .style = static_cast<int>(i)};
      for (const auto& record : records(runs[i])) {
        const double x = Value(record, against) / unit.size;
        if (std::isfinite(x)) series.points.push_back({x, y(record)});
      }
      if (!series.points.empty()) {
        chart.series.push_back(std::move(series));
      } else if (against == Against::kBytes && !records(runs[i]).empty()) {
        without.push_back(runs[i].label);
      }
    }
    absl::StrAppend(&html, RenderLineChart(chart));
  }
  if (html.empty()) return "";
  html = absl::StrCat("<div class=\"charts\">\n", html, "</div>\n");
  if (without.empty()) return html;
  absl::StrAppend(&html, "<p class=\"note\">Without a count of bytes: ");
  for (size_t i = 0; i < without.size(); ++i)
    absl::StrAppend(&html, i > 0 ? ", " : "", MarkupText(without[i]));
  return absl::StrCat(html, ".</p>\n");
}

}  // namespace

std::string RenderAccuracyCharts(std::span<const RunRecord> runs) {
  const std::string charts = Charts(
      runs, "Test accuracy (%)", {.y_unit = "%"},
      [](const RunRecord& run) -> const std::vector<TestRecord>& { return run.test; },
      [](const TestRecord& record) { return 100 * record.accuracy; });
  return charts.empty() ? "<p class=\"note\">No evaluation yet.</p>\n" : charts;
}

std::string RenderLossCharts(std::span<const RunRecord> runs) {
  const std::string charts = Charts(
      runs, "Training loss", {.from_zero = true},
      [](const RunRecord& run) -> const std::vector<TrainRecord>& { return run.train; },
      [](const TrainRecord& record) { return record.loss; });
  return charts.empty() ? "<p class=\"note\">No report yet.</p>\n" : charts;
}

}  // namespace ssd
