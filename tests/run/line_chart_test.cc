#include "deploy/run/page/line_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "deploy/run/page/series_style.h"

namespace ssd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

LineChart Chart(std::vector<ChartPoint> points) {
  return {.title = "Loss", .x_label = "epochs", .series = {{.name = "a <run>", .points = std::move(points)}}};
}

int Count(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// The area is 42..346 wide and 14..198 high, upside down.
TEST(LineChartTest, PointsLieWhereTheAxesPutThem) {
  const std::string svg = RenderLineChart(Chart({{0, 0}, {1, 1}, {4, 4}}));
  EXPECT_THAT(svg, HasSubstr("data-x=\"0 4\" data-y=\"0 4\""));
  EXPECT_THAT(svg, HasSubstr("d=\"M42.00 198.00L118.00 152.00L346.00 14.00\""));
  EXPECT_THAT(svg, HasSubstr("<use href=\"#m0\" x=\"118.00\" y=\"152.00\"/>"));
}

TEST(LineChartTest, AnUnknownValueIsAGapInTheLine) {
  const std::string svg = RenderLineChart(Chart({{0, 0}, {1, NAN}, {2, 2}, {4, 4}}));
  EXPECT_THAT(svg, HasSubstr("d=\"M42.00 198.00M194.00 106.00L346.00 14.00\""));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(LineChartTest, AChartWithoutAPointIsEmpty) {
  EXPECT_THAT(RenderLineChart(Chart({})), IsEmpty());
  EXPECT_THAT(RenderLineChart(Chart({{NAN, 1}, {1, NAN}, {INFINITY, 2}})), IsEmpty());
}

TEST(LineChartTest, OnePointIsAMarker) {
  const std::string svg = RenderLineChart(Chart({{1, 80}}));
  EXPECT_EQ(Count(svg, "<use "), 1);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(LineChartTest, NamesAreEscapedAndTheDrawingIsDescribed) {
  const std::string svg = RenderLineChart(Chart({{0, 0}, {1, 1}}));
  EXPECT_THAT(svg, HasSubstr("<title>a &lt;run&gt;</title>"));
  EXPECT_THAT(svg, HasSubstr("role=\"img\""));
  EXPECT_THAT(svg, HasSubstr("<desc>"));
}

TEST(LineChartTest, OfManyPointsAFewHaveMarkers) {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 100; ++i) points.push_back({static_cast<double>(i), static_cast<double>(i % 7)});
  const int markers = Count(RenderLineChart(Chart(points)), "<use ");
  EXPECT_LE(markers, kMaxMarkers);
  EXPECT_GE(markers, kMaxMarkers / 2);
}

TEST(LineChartTest, OfVeryManyPointsThoseStayThatShow) {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 100000; ++i) points.push_back({static_cast<double>(i), 1});
  points[50001].y = 9;
  points[70001].y = -9;
  points[90001].y = NAN;
  const std::vector<ChartPoint> drawn = DrawnPoints(points);
  EXPECT_LE(drawn.size(), static_cast<size_t>(kMaxDrawnPoints));
  std::set<double> kept;
  for (const ChartPoint& point : drawn) {
    EXPECT_TRUE(std::isnan(point.y) || point.y == points[static_cast<size_t>(point.x)].y)
        << "a point of its own";
    kept.insert(point.x);
  }
  for (const double x : {0, 50001, 70001, 90001, 99999}) EXPECT_TRUE(kept.contains(x)) << x;
  EXPECT_TRUE(
      std::is_sorted(drawn.begin(), drawn.end(), [](const auto& a, const auto& b) { return a.x < b.x; }));
}

TEST(SeriesStyleTest, NoTwoOfManyRunsLookAlike) {
  std::set<std::tuple<std::string, std::string, std::string>> all;
  std::set<std::pair<std::string, std::string>> without_colour;
  for (int i = 0; i < 280; ++i) all.insert({ColourClass(i), DashPattern(i), MarkerId(i)});
  for (int i = 0; i < 35; ++i) without_colour.insert({DashPattern(i), MarkerId(i)});
  EXPECT_EQ(all.size(), 280u);
  EXPECT_EQ(without_colour.size(), 35u);
}

}  // namespace
}  // namespace ssd
