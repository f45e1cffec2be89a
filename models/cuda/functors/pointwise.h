// The operations value by value that are not local updates: casts, loss scaling's end, and sums.
#ifndef SSD_MODELS_CUDA_FUNCTORS_POINTWISE_H_
#define SSD_MODELS_CUDA_FUNCTORS_POINTWISE_H_

#include <cstdint>

#include "common/host_device.h"
#include "models/cuda/functors/half.h"

namespace ssd {

// to = from, rounded to the nearest.
struct Cast {
  template <typename From, typename To>
  SSD_HOST_DEVICE void operator()(From from, To& to) const {
    to = FromFloat<To>(ToFloat(from));
  }
};

// gradient = scaled / scale;  *non_finite becomes 1 if any gradient is an infinity or a NaN, and else stays.
//
// Threads that find one write the same 1, so their order does not matter.
struct UnscaleBy {
  float inverse_scale = 1;
  int32_t* non_finite = nullptr;

  template <typename From>
  SSD_HOST_DEVICE void operator()(From scaled, float& gradient) const {
    gradient = ToFloat(scaled) * inverse_scale;
    if (!IsFinite(gradient)) *non_finite = 1;
  }
};

// The same with the scale of the moment, which a thread reads once.
struct Unscale {
  const float* inverse_scale = nullptr;  // of a power of two, so that it is exact
  int32_t* non_finite = nullptr;

  SSD_HOST_DEVICE UnscaleBy Prepared() const {
    return {.inverse_scale = *inverse_scale, .non_finite = non_finite};
  }
};

// sum += x
struct Accumulate {
  template <typename T>
  SSD_HOST_DEVICE void operator()(T x, T& sum) const {
    sum = FromFloat<T>(ToFloat(sum) + ToFloat(x));
  }
};

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_FUNCTORS_POINTWISE_H_
