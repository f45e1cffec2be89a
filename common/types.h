// The integers of the protocol, each a type of its own, so that a step is never taken for a worker.
#ifndef SSD_COMMON_TYPES_H_
#define SSD_COMMON_TYPES_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>

namespace ssd {

// An int64 that mixes only with its own kind. Differences are plain numbers; adding a plain number moves it.
template <typename Tag>
class Number {
 public:
  constexpr Number() = default;
  constexpr explicit Number(int64_t value) : value_(value) {}

  constexpr int64_t value() const { return value_; }
  // NOLINTNEXTLINE(modernize-use-nullptr): takes the 0 in what clang makes of it for a pointer.
  constexpr auto operator<=>(const Number&) const = default;
  constexpr Number operator+(int64_t n) const { return Number(value_ + n); }
  constexpr Number operator-(int64_t n) const { return Number(value_ - n); }
  constexpr int64_t operator-(Number other) const { return value_ - other.value_; }
  constexpr Number& operator++() {
    ++value_;
    return *this;
  }

  friend std::ostream& operator<<(std::ostream& out, Number n) { return out << n.value_; }

 private:
  int64_t value_ = 0;
};

using Step = Number<struct StepTag>;                // t: training steps, from 0
using Version = Number<struct VersionTag>;          // v: weights after all steps before v
using WorkerId = Number<struct WorkerIdTag>;        // 0..N-1
using ShardId = Number<struct ShardIdTag>;          // 0..S-1
using BlockId = Number<struct BlockIdTag>;          // index into Partition::blocks()
using Generation = Number<struct GenerationTag>;    // of the cluster; rises with every change of membership; 0: none yet
using Incarnation = Number<struct IncarnationTag>;  // of a worker: one process's life; later ones are larger

// The steps [first, end).
struct StepRange {
  Step first;
  Step end;

  int64_t size() const { return end - first; }
  bool operator==(const StepRange&) const = default;
};

}  // namespace ssd

#endif  // SSD_COMMON_TYPES_H_
