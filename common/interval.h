// Points of training that come every so many steps, where "so many" is seldom a whole number.
#ifndef SSD_COMMON_INTERVAL_H_
#define SSD_COMMON_INTERVAL_H_

#include <cmath>
#include <cstdint>

namespace ssd {

// Whether one of the points `interval`, 2 `interval`, ... is reached with `steps` steps and was not with `before`.
// The small term forgives the rounding of samples / batch. REQUIRES: interval > 0.
inline bool ReachesPoint(double interval, int64_t before, int64_t steps) {
  const auto points = [interval](int64_t done) {
    return std::floor(static_cast<double>(done) / interval + 1e-9);
  };
  return points(steps) > points(before);
}

}  // namespace ssd

#endif  // SSD_COMMON_INTERVAL_H_
