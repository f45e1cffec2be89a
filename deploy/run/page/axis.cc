#include "deploy/run/page/axis.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace ssd {
namespace {

// Ends that a rounding error has moved past a tick count as on it.
constexpr double kSlack = 1e-9;
constexpr double kMaxTicks = 100;

}  // namespace

std::vector<double> Axis::Ticks() const {
  std::vector<double> ticks;
  const double first = std::ceil(low / tick - kSlack);
  const double last = std::floor(high / tick + kSlack);
  // Counted in int: beyond 2^53 a double plus one is the same double.
  const int count = static_cast<int>(std::clamp(last - first + 1, 0.0, kMaxTicks));
  ticks.reserve(count);
  for (int i = 0; i < count; ++i) ticks.push_back((first + i) * tick);
  return ticks;
}

std::string Axis::Label(double value) const {
  if (std::abs(value) < tick / 2) value = 0;
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(tick) + kSlack)));
  if (decimals > 4 || std::abs(value) >= 1e6) return absl::StrFormat("%.4g", value);
  return absl::StrFormat("%.*f", decimals, value);
}

Axis MakeAxis(double low, double high, int max_ticks, bool round_ends) {
  if (!(high > low)) {
    const double margin = std::max(std::abs(low) / 10, 1e-3);
    high = low + margin;
    if (round_ends) low -= margin;
  }
  const double at_least = (high - low) / max_ticks;
  const double power = std::pow(10, std::floor(std::log10(at_least)));
  Axis axis{.low = low, .high = high};
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    axis.tick = factor * power;
    if (axis.tick >= at_least * (1 - kSlack)) break;
  }
  if (round_ends) {
    axis.low = std::floor(low / axis.tick + kSlack) * axis.tick;
    axis.high = std::ceil(high / axis.tick - kSlack) * axis.tick;
  }
  return axis;
}

}  // namespace ssd
