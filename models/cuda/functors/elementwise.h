// Operations value by value over arrays of one size, read and written once.
//
// An operation is a functor of one element of each array, as those of models/local_update_arithmetic.h: it takes what is
// read as a value and what is written as a reference. Its arrays say how they are used:
//
//   ApplyItem<4>(SgdUpdate{step}, split, item, ReadArray{g}, UpdateArray{x});
//
// An array that is read may be the one that is written, as all of an item is read before any of it is written.
#ifndef SSD_MODELS_CUDA_FUNCTORS_ELEMENTWISE_H_
#define SSD_MODELS_CUDA_FUNCTORS_ELEMENTWISE_H_

#include <cstdint>

#include "common/host_device.h"
#include "models/cuda/functors/element_split.h"
#include "models/cuda/functors/lanes.h"

namespace ssd {

// Read only.
template <typename T>
struct ReadArray {
  using Value = T;
  const T* data;

  template <int kWidth>
  SSD_HOST_DEVICE Lanes<T, kWidth> Load(int64_t first) const {
    return LoadLanes<kWidth>(data + first);
  }
  template <int kWidth>
  SSD_HOST_DEVICE void Store(const Lanes<T, kWidth>&, int64_t) const {}
};

// Written only: what it held is not read.
template <typename T>
struct WriteArray {
  using Value = T;
  T* data;

  template <int kWidth>
  SSD_HOST_DEVICE Lanes<T, kWidth> Load(int64_t) const {
    return {};
  }
  template <int kWidth>
  SSD_HOST_DEVICE void Store(const Lanes<T, kWidth>& lanes, int64_t first) const {
    StoreLanes<kWidth>(lanes, data + first);
  }
};

// Read and written.
template <typename T>
struct UpdateArray {
  using Value = T;
  T* data;

  template <int kWidth>
  SSD_HOST_DEVICE Lanes<T, kWidth> Load(int64_t first) const {
    return LoadLanes<kWidth>(static_cast<const T*>(data) + first);
  }
  template <int kWidth>
  SSD_HOST_DEVICE void Store(const Lanes<T, kWidth>& lanes, int64_t first) const {
    StoreLanes<kWidth>(lanes, data + first);
  }
};

template <typename T>
ReadArray(const T*) -> ReadArray<T>;
template <typename T>
WriteArray(T*) -> WriteArray<T>;
template <typename T>
UpdateArray(T*) -> UpdateArray<T>;

// The copies of an item's values that the operation works on, one after the other.
template <int kWidth, typename Operation, typename... Values>
SSD_HOST_DEVICE inline void ApplyLanes(const Operation& operation, Lanes<Values, kWidth>&... lanes) {
  for (int lane = 0; lane < kWidth; ++lane) operation(lanes[lane]...);
}

template <int kWidth, typename Operation, typename... Arrays>
SSD_HOST_DEVICE inline void ApplyFrom(const Operation& operation, int64_t first, const Arrays&... arrays) {
  const auto apply = [&](auto... lanes) {
    ApplyLanes<kWidth>(operation, lanes...);
    (arrays.template Store<kWidth>(lanes, first), ...);
  };
  apply(arrays.template Load<kWidth>(first)...);
}

// What a thread applies to its items: the operation, or what it makes of itself by reading what it points to.
template <typename Operation>
SSD_HOST_DEVICE inline auto PreparedOf(const Operation& operation) {
  if constexpr (requires { operation.Prepared(); }) {
    return operation.Prepared();
  } else {
    return operation;
  }
}

// Item `item` of `split`. REQUIRES: split.width == kWidth.
template <int kWidth, typename Operation, typename... Arrays>
SSD_HOST_DEVICE inline void ApplyItem(const Operation& operation, const ElementSplit& split, int64_t item,
                                      const Arrays&... arrays) {
  if (split.IsGroup(item)) {
    ApplyFrom<kWidth>(operation, split.First(item), arrays...);
  } else {
    ApplyFrom<1>(operation, split.First(item), arrays...);
  }
}

// Values of one item: 16 bytes of the smallest type.
template <typename... Arrays>
constexpr int WidthOf() {
  int width = 0;
  ((width = kAccessWidth<typename Arrays::Value> > width ? kAccessWidth<typename Arrays::Value> : width),
   ...);
  return width;
}

template <typename... Arrays>
ElementSplit SplitArrays(int64_t size, const Arrays&... arrays) {
  return SplitElements(size, WidthOf<Arrays...>(),
                       {ArrayPlace{.address = reinterpret_cast<uintptr_t>(arrays.data),
                                   .value_bytes = static_cast<int64_t>(sizeof(typename Arrays::Value))}...});
}

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_FUNCTORS_ELEMENTWISE_H_
