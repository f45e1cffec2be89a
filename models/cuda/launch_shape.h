// How many threads run a kernel: a pure function of the work and of the device.
//
// Every kernel walks its items with the stride of all its threads, so that any number of them does it; this is the number
// that fills the device once, and no more than there are items.
#ifndef SSD_MODELS_CUDA_LAUNCH_SHAPE_H_
#define SSD_MODELS_CUDA_LAUNCH_SHAPE_H_

#include <algorithm>
#include <cstdint>

namespace ssd {

inline constexpr int kThreadsOfBlock = 256;
// What a multiprocessor of compute capability 8.0 and 9.0 holds at once.
inline constexpr int kResidentThreads = 2048;
inline constexpr int kResidentBlocks = 32;

struct LaunchShape {
  int blocks = 0;  // 0: there is nothing to launch
  int threads = 0;

  bool operator==(const LaunchShape&) const = default;
};

// A thread an item. REQUIRES: items >= 0, multiprocessors >= 1.
constexpr LaunchShape ShapeForItems(int64_t items, int multiprocessors) {
  const int64_t wanted = (items + kThreadsOfBlock - 1) / kThreadsOfBlock;
  const int64_t resident = int64_t{multiprocessors} * (kResidentThreads / kThreadsOfBlock);
  return {.blocks = static_cast<int>(std::min(wanted, resident)), .threads = kThreadsOfBlock};
}

// A block of `threads` a row. REQUIRES: as above; threads >= 1.
constexpr LaunchShape ShapeForRows(int64_t rows, int threads, int multiprocessors) {
  const int64_t resident = int64_t{multiprocessors} * std::min(kResidentThreads / threads, kResidentBlocks);
  return {.blocks = static_cast<int>(std::min(rows, resident)), .threads = threads};
}

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_LAUNCH_SHAPE_H_
