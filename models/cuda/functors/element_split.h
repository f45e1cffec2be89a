// How arrays of one size are walked: as groups of `width` values that move by accesses of 16 bytes, and single values
// before and after them.
//
//   index    0 1 2 | 3 4 5 6 | 7 8 9 10 | 11
//            head    group 0   group 1    tail      items: group 0, group 1, 0, 1, 2, 11
//
// The groups come first, so that threads beside each other do the same.
#ifndef SSD_MODELS_CUDA_FUNCTORS_ELEMENT_SPLIT_H_
#define SSD_MODELS_CUDA_FUNCTORS_ELEMENT_SPLIT_H_

#include <cstdint>
#include <initializer_list>

#include "common/host_device.h"
#include "models/cuda/functors/lanes.h"

namespace ssd {

struct ElementSplit {
  int64_t size = 0;
  int64_t head = 0;
  int64_t groups = 0;
  int width = 1;

  SSD_HOST_DEVICE int64_t items() const { return groups + size - groups * width; }
  SSD_HOST_DEVICE bool IsGroup(int64_t item) const { return item < groups; }
  // The first, or only, value of an item.
  SSD_HOST_DEVICE int64_t First(int64_t item) const {
    if (item < groups) return head + item * width;
    const int64_t single = item - groups;
    return single < head ? single : groups * width + single;
  }
};

// Where an array lies, and the size of its values.
struct ArrayPlace {
  uintptr_t address = 0;
  int64_t value_bytes = 0;
};

// The split whose groups begin at multiples of 16 bytes in all arrays; where there is none, the arrays lying askew to each
// other, all values are single. REQUIRES: each address is a multiple of its value_bytes.
inline ElementSplit SplitElements(int64_t size, int width, std::initializer_list<ArrayPlace> arrays) {
  for (int64_t head = 0; head < width && head + width <= size; ++head) {
    bool aligned = true;
    for (const ArrayPlace& array : arrays) {
      aligned =
          aligned && (array.address + static_cast<uintptr_t>(head * array.value_bytes)) % kAccessBytes == 0;
    }
    if (aligned) return {.size = size, .head = head, .groups = (size - head) / width, .width = width};
  }
  return {.size = size, .head = 0, .groups = 0, .width = width};
}

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_FUNCTORS_ELEMENT_SPLIT_H_
