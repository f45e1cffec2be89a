#include "deploy/run/page/line_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "deploy/run/page/axis.h"
#include "deploy/run/page/figure_text.h"
#include "deploy/run/page/series_style.h"

namespace ssd {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Range {
  double low = kInfinity, high = -kInfinity;

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// The chart's axes, and where on the drawing they put a value.
struct Frame {
  Axis x, y;

  double X(double value) const { return kPlotLeft + (kPlotRight - kPlotLeft) * x.Position(value); }
  double Y(double value) const { return kPlotBottom - (kPlotBottom - kPlotTop) * y.Position(value); }
};

bool IsKnown(const ChartPoint& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

std::string Grid(const LineChart& chart, const Frame& frame) {
  std::string grid;
  for (const double tick : frame.y.Ticks()) {
    absl::StrAppendFormat(&grid, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", kPlotLeft, frame.Y(tick),
                          kPlotRight);
    absl::StrAppendFormat(&grid, "<text x=\"%.1f\" y=\"%.1f\" class=\"end\">%s</text>\n", kPlotLeft - 5,
                          frame.Y(tick) + 4, frame.y.Label(tick));
  }
  for (const double tick : frame.x.Ticks()) {
    absl::StrAppendFormat(&grid, "<path class=\"tick\" d=\"M%.1f %.1fv4\"/>", frame.X(tick), kPlotBottom);
    absl::StrAppendFormat(&grid, "<text x=\"%.1f\" y=\"%.1f\" class=\"middle\">%s</text>\n", frame.X(tick),
                          kPlotBottom + 16, frame.x.Label(tick));
  }
  absl::StrAppendFormat(&grid, "<path class=\"tick\" d=\"M%.1f %.1fH%.1f\"/>\n", kPlotLeft, kPlotBottom,
                        kPlotRight);
  absl::StrAppendFormat(&grid, "<text x=\"%.1f\" y=\"%.1f\" class=\"middle\">%s</text>\n",
                        (kPlotLeft + kPlotRight) / 2, kPlotBottom + 32, MarkupText(chart.x_label));
  return grid;
}

std::string Line(const ChartSeries& series, const Frame& frame) {
  const std::vector<ChartPoint> points = DrawnPoints(series.points);
  std::string path, markers;
  std::vector<const ChartPoint*> known;
  bool pen_is_down = false;
  for (const ChartPoint& point : points) {
    if (!std::isfinite(point.x)) continue;
    if (std::isfinite(point.y)) {
      absl::StrAppendFormat(&path, "%c%.2f %.2f", pen_is_down ? 'L' : 'M', frame.X(point.x),
                            frame.Y(point.y));
      known.push_back(&point);
    }
    pen_is_down = std::isfinite(point.y);
  }
  // Of many markers a few; at other places in each run, so that lines which coincide still show both.
  const size_t apart = (known.size() + kMaxMarkers - 1) / kMaxMarkers;
  const size_t first = apart > 1 ? static_cast<size_t>(series.style) * apart / 5 % apart : 0;
  for (size_t i = first; i < known.size(); i += apart) {
    absl::StrAppendFormat(&markers, "<use href=\"#%s\" x=\"%.2f\" y=\"%.2f\"/>", MarkerId(series.style),
                          frame.X(known[i]->x), frame.Y(known[i]->y));
  }
  return absl::StrFormat(
      "<g class=\"series %s\"><title>%s</title><path class=\"line\" stroke-dasharray=\"%s\" "
      "d=\"%s\"/>%s</g>\n",
      ColourClass(series.style), MarkupText(series.name), DashPattern(series.style), path, markers);
}

}  // namespace

std::vector<ChartPoint> DrawnPoints(const std::vector<ChartPoint>& points) {
  if (points.size() <= kMaxDrawnPoints) return points;
  constexpr size_t kStretches = kMaxDrawnPoints / 5;
  std::vector<ChartPoint> drawn;
  for (size_t i = 0; i < kStretches; ++i) {
    const size_t begin = i * points.size() / kStretches, end = (i + 1) * points.size() / kStretches;
    std::set<size_t> kept = {begin, end - 1};
    size_t lowest = begin, highest = begin;
    for (size_t j = begin; j < end; ++j) {
      if (!IsKnown(points[j])) {
        kept.insert(j);  // the gap
        break;
      }
      if (points[j].y < points[lowest].y) lowest = j;
      if (points[j].y > points[highest].y) highest = j;
    }
    kept.insert({lowest, highest});
    for (const size_t j : kept) drawn.push_back(points[j]);
  }
  return drawn;
}

std::string RenderLineChart(const LineChart& chart) {
  Range x, y;
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      if (!IsKnown(point)) continue;
      x.Add(point.x);
      y.Add(point.y);
    }
  }
  if (x.low > x.high) return "";
  if (chart.from_zero) y.low = std::min(y.low, 0.0);
  const Frame frame = {.x = MakeAxis(std::min(x.low, 0.0), x.high, kChartTicks, /*round_ends=*/false),
                       .y = MakeAxis(y.low, y.high, kChartTicks, /*round_ends=*/true)};
  std::string html = absl::StrFormat(
      "<figure class=\"chart\"><figcaption>%s</figcaption>\n"
      "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" data-x=\"%.17g %.17g\" data-y=\"%.17g %.17g\">\n"
      "<title>%s</title><desc>%d lines; %s from %s to %s, vertically from %s to %s%s.</desc>\n",
      MarkupText(chart.title), kChartWidth, kChartHeight, frame.x.low, frame.x.high, frame.y.low,
      frame.y.high, MarkupText(chart.title), chart.series.size(), MarkupText(chart.x_label),
      frame.x.Label(frame.x.low), frame.x.Label(frame.x.high), frame.y.Label(frame.y.low),
      frame.y.Label(frame.y.high), chart.y_unit.empty() ? "" : absl::StrCat(" ", MarkupText(chart.y_unit)));
  absl::StrAppend(&html, Grid(chart, frame));
  for (const ChartSeries& series : chart.series) absl::StrAppend(&html, Line(series, frame));
  return absl::StrCat(html, "</svg></figure>\n");
}

}  // namespace ssd
