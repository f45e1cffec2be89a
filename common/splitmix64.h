// The parts of splitmix64 (Steele, Lea, Flood 2014), for generators that any machine and compiler reproduces.
// Pure functions.
#ifndef SSD_COMMON_SPLITMIX64_H_
#define SSD_COMMON_SPLITMIX64_H_

#include <cstdint>

namespace ssd {

// What the counter is stepped by: 2^64 over the golden ratio.
inline constexpr uint64_t kSplitMix64Step = 0x9E3779B97F4A7C15;

// The mixer that makes the counter random.
constexpr uint64_t SplitMix64Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace ssd

#endif  // SSD_COMMON_SPLITMIX64_H_
