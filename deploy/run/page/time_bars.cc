#include "deploy/run/page/time_bars.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "deploy/run/page/axis.h"
#include "deploy/run/page/figure_text.h"
#include "deploy/run/page/run_figures.h"

namespace ssd {
namespace {

constexpr double kWidth = 360, kLeft = 4, kRight = 346;
constexpr double kRowHeight = 38, kBarTop = 16, kBarHeight = 16, kAxisHeight = 36;
constexpr size_t kMaxNameBytes = 52;  // what fits above a bar

// What is drawn over a field of 6 x 6 pixels in the phase's colour.
constexpr const char* kHatchings[] = {
    "<path d=\"M0 3H6\"/>",
    "",
    "<path d=\"M-1 1L1 -1M0 6L6 0M5 7L7 5\"/>",
    "<circle cx=\"3\" cy=\"3\" r=\"1.2\" class=\"dot\"/>",
    "<path d=\"M0 0L6 6M0 6L6 0\"/>",
};

std::string Shortened(const std::string& name) {
  return name.size() <= kMaxNameBytes ? name
                                      : absl::StrCat("\u2026", name.substr(name.size() - kMaxNameBytes));
}

}  // namespace

const std::vector<TimePhase>& TimePhases() {
  static const auto& phases = *new std::vector<TimePhase>{{"data", &StepTimes::data},
                                                          {"compute", &StepTimes::compute},
                                                          {"local update", &StepTimes::local_update},
                                                          {"push", &StepTimes::push},
                                                          {"wait", &StepTimes::wait}};
  return phases;
}

std::string TimePatterns() {
  std::string patterns = "<svg width=\"0\" height=\"0\" class=\"definitions\" aria-hidden=\"true\"><defs>\n";
  for (size_t i = 0; i < std::size(kHatchings); ++i) {
    absl::StrAppend(
        &patterns, "<pattern id=\"p", i, "\" class=\"p", i,
        "\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><rect width=\"6\" height=\"6\"/>",
        kHatchings[i], "</pattern>\n");
  }
  return absl::StrCat(patterns, "</defs></svg>\n");
}

std::string PhaseKey(size_t phase) {
  return absl::StrCat(
      "<svg class=\"key\" viewBox=\"0 0 40 12\" aria-hidden=\"true\"><rect class=\"bar\" x=\"1\" y=\"0\" "
      "width=\"38\" height=\"12\" fill=\"url(#p",
      phase, ")\"/></svg>");
}

std::string RenderTimeBars(const std::vector<TimeBar>& bars) {
  double longest = 0;
  for (const TimeBar& bar : bars) {
    if (const double sum = Sum(bar.times); std::isfinite(sum)) longest = std::max(longest, sum);
  }
  if (longest == 0) return "";
  const Axis axis = MakeAxis(0, 1000 * longest, kChartTicks, /*round_ends=*/false);  // milliseconds
  const double bottom = kRowHeight * static_cast<double>(bars.size());
  std::string svg = absl::StrFormat(
      "<figure class=\"bars\"><svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" data-x=\"%.17g %.17g\"><title>Time "
      "of a "
      "step</title><desc>A bar a run, of the mean milliseconds of a step of one worker; the table has the "
      "numbers.</desc>\n",
      kWidth, bottom + kAxisHeight, axis.low, axis.high);
  for (size_t row = 0; row < bars.size(); ++row) {
    const double top = kRowHeight * static_cast<double>(row);
    absl::StrAppendFormat(&svg, "<g class=\"row\"><text x=\"%.1f\" y=\"%.1f\">%s</text>", kLeft,
                          top + kBarTop - 4, MarkupText(Shortened(bars[row].name)));
    double x = kLeft;
    for (size_t i = 0; i < TimePhases().size(); ++i) {
      const double ms = 1000 * (bars[row].times.*TimePhases()[i].seconds);
      if (!std::isfinite(ms)) continue;
      const double width = (kRight - kLeft) * axis.Position(ms);
      absl::StrAppendFormat(&svg,
                            "<rect class=\"bar\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" "
                            "fill=\"url(#p%d)\"><title>%s %s ms</title></rect>",
                            x, top + kBarTop, width, kBarHeight, i, TimePhases()[i].name, NumberText(ms, 2));
      x += width;
    }
    absl::StrAppend(&svg, "</g>\n");
  }
  const double line = bottom + 2;
  absl::StrAppendFormat(&svg, "<path class=\"tick\" d=\"M%.1f %.1fH%.1f\"/>\n", kLeft, line, kRight);
  for (const double tick : axis.Ticks()) {
    const double x = kLeft + (kRight - kLeft) * axis.Position(tick);
    absl::StrAppendFormat(
        &svg, "<path class=\"tick\" d=\"M%.1f %.1fv4\"/><text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n",
        x, line, x, line + 16, tick == 0 ? "start" : "middle", axis.Label(tick));
  }
  absl::StrAppendFormat(&svg, "<text x=\"%.1f\" y=\"%.1f\" class=\"middle\">milliseconds a step</text>\n",
                        (kLeft + kRight) / 2, line + 31);
  return absl::StrCat(svg, "</svg></figure>\n");
}

}  // namespace ssd
