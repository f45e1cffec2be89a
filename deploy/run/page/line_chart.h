// One chart of the report: some series of points over two linear axes, as inline SVG.
#ifndef SSD_DEPLOY_RUN_PAGE_LINE_CHART_H_
#define SSD_DEPLOY_RUN_PAGE_LINE_CHART_H_

#include <string>
#include <vector>

namespace ssd {

struct ChartPoint {
  double x = 0;
  double y = 0;  // NaN: not known; the line has a gap there
};

struct ChartSeries {
  std::string name;
  int style = 0;  // as in series_style.h
  std::vector<ChartPoint> points;
};

// A value type.
struct LineChart {
  std::string title;       // "Test accuracy against epochs"
  std::string x_label;     // "epochs"
  std::string y_unit;      // "%"; empty: none
  bool from_zero = false;  // the y axis starts at 0
  std::vector<ChartSeries> series;
};

// The drawing is in a box of kChartWidth times kChartHeight, with the points' area within these.
constexpr double kChartWidth = 360, kChartHeight = 236;
constexpr double kPlotLeft = 42, kPlotRight = 346, kPlotTop = 14, kPlotBottom = 198;
// Of one series; of more, those stay that a line of this many pixels shows: of each stretch the first, the
// last, the lowest and the highest.
constexpr int kMaxDrawnPoints = 600;
// A marker stands on every point, or, on more points than these, on this many.
constexpr int kMaxMarkers = 12;

// A <figure> with its caption. Points whose x is not known are left out. Empty where there is no point at
// all. A pure function.
std::string RenderLineChart(const LineChart& chart);

// The points that are drawn of a series.
std::vector<ChartPoint> DrawnPoints(const std::vector<ChartPoint>& points);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_PAGE_LINE_CHART_H_
