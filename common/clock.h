// Time as the cores see it, so that a test can own it.
#ifndef SSD_COMMON_CLOCK_H_
#define SSD_COMMON_CLOCK_H_

#include "absl/time/time.h"

namespace ssd {

// Thread-safe. Durations and deadlines use the steady time; only time stamps, for people, use the wall time.
class Clock {
 public:
  virtual ~Clock() = default;

  // Since a fixed moment of this process; never goes back.
  virtual absl::Duration Steady() const = 0;
  virtual absl::Time Wall() const = 0;

  // The machine's clock.
  static Clock& Real();
};

}  // namespace ssd

#endif  // SSD_COMMON_CLOCK_H_
