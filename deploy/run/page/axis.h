// A linear axis with ticks at round numbers.
#ifndef SSD_DEPLOY_RUN_PAGE_AXIS_H_
#define SSD_DEPLOY_RUN_PAGE_AXIS_H_

#include <string>
#include <vector>

namespace ssd {

// A value type; all of it is pure.
struct Axis {
  double low = 0;
  double high = 1;  // > low
  double tick = 1;  // the distance of ticks, which lie at its multiples: 1, 2 or 5 times a power of ten

  // 0 at `low`, 1 at `high`.
  double Position(double value) const { return (value - low) / (high - low); }
  // Those within [low, high].
  std::vector<double> Ticks() const;
  // A tick's value with as many decimals as all ticks need.
  std::string Label(double value) const;
};

// How many ticks the charts of the page ask for.
inline constexpr int kChartTicks = 6;

// The axis of [low, high] with as many ticks as fit, at most `max_ticks` (at least 2) and one. With
// `round_ends` both ends are moved outwards to ticks; else they stay. An empty range is widened.
Axis MakeAxis(double low, double high, int max_ticks, bool round_ends);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_PAGE_AXIS_H_
