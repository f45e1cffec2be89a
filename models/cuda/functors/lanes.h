// Neighbouring values of an array, which move as one: kWidth values of 16 or 32 bytes by accesses of 16 bytes, one value
// by its own.
#ifndef SSD_MODELS_CUDA_FUNCTORS_LANES_H_
#define SSD_MODELS_CUDA_FUNCTORS_LANES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/host_device.h"
#include "common/logging.h"

namespace ssd {

inline constexpr int kAccessBytes = 16;

// Values of a T that fill one access.
template <typename T>
inline constexpr int kAccessWidth = kAccessBytes / static_cast<int>(sizeof(T));

template <typename T, int kWidth>
struct alignas(kWidth * sizeof(T) < kAccessBytes ? kWidth * sizeof(T) : kAccessBytes) Lanes {
  T values[kWidth];

  SSD_HOST_DEVICE T& operator[](int lane) { return values[lane]; }
  SSD_HOST_DEVICE const T& operator[](int lane) const { return values[lane]; }
};

// REQUIRES: `from` and `to` are aligned as Lanes<T, kWidth> is. A GPU stops where they are not, and so does the host.
template <int kWidth, typename T>
SSD_HOST_DEVICE inline Lanes<T, kWidth> LoadLanes(const T* from) {
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const Lanes<T, kWidth>*>(from);
#else
  CHECK_EQ(reinterpret_cast<uintptr_t>(from) % alignof(Lanes<T, kWidth>), 0u);
  Lanes<T, kWidth> lanes;
  memcpy(&lanes, from, sizeof lanes);
  return lanes;
#endif
}

template <int kWidth, typename T>
SSD_HOST_DEVICE inline void StoreLanes(const Lanes<T, kWidth>& lanes, T* to) {
#ifdef __CUDA_ARCH__
  *reinterpret_cast<Lanes<T, kWidth>*>(to) = lanes;
#else
  CHECK_EQ(reinterpret_cast<uintptr_t>(to) % alignof(Lanes<T, kWidth>), 0u);
  memcpy(to, &lanes, sizeof lanes);
#endif
}

// Whether an array may be moved by accesses of 16 bytes from its first value on.
inline bool IsAligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kAccessBytes == 0; }

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_FUNCTORS_LANES_H_
