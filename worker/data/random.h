// Random numbers that every machine and compiler draws alike: a sequence is a pure function of (seed,
// purpose, index), so what is drawn for one sample depends on no other sample, no thread and no time.
//
//   Random random(seed, Random::kAugmentation, position);
//   const int64_t shift = random.Below(9);  // 0..8
//
// The generator is splitmix64 (Steele, Lea, Flood 2014): a counter, stepped by the golden ratio, through a
// mixer. The counter's start is the three keys, mixed one after the other.
#ifndef SSD_WORKER_DATA_RANDOM_H_
#define SSD_WORKER_DATA_RANDOM_H_

#include <cstdint>

#include "common/splitmix64.h"

namespace ssd {

class Random {
 public:
  // What the numbers are for. Two purposes share no sequence; a number once given is never given to another.
  enum Purpose : uint64_t { kDataOrder = 1, kAugmentation = 2, kShapesTrain = 3, kShapesTest = 4 };

  Random(uint64_t seed, Purpose purpose, uint64_t index) : state_(Key(Key(Key(seed) + purpose) + index)) {}

  // 64 random bits.
  uint64_t Next() { return SplitMix64Mix(state_ += kSplitMix64Step); }

  // Each of 0..n-1 with exactly the same probability. REQUIRES: n > 0.
  uint64_t Below(uint64_t n) {
    // 2^64 mod n draws too many would favour the small results; they are drawn again.
    const uint64_t first_fair = (0 - n) % n;
    uint64_t draw = Next();
    while (draw < first_fair) draw = Next();
    return draw % n;
  }

  // Uniform in [0, 1), in steps of 2^-53.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  // Uniform in [low, high).
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }

 private:
  static constexpr uint64_t Key(uint64_t z) { return SplitMix64Mix(z + kSplitMix64Step); }

  uint64_t state_;
};

}  // namespace ssd

#endif  // SSD_WORKER_DATA_RANDOM_H_
