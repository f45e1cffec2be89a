#include "common/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace ssd {
namespace {

class RealClock : public Clock {
 public:
  absl::Duration Steady() const override {
    return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }
  absl::Time Wall() const override { return absl::Now(); }
};

}  // namespace

Clock& Clock::Real() {
  static RealClock& clock = *new RealClock;
  return clock;
}

}  // namespace ssd
