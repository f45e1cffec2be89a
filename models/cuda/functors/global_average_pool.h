// The mean over H and W of (N, H, W, C), and its gradient.
//
// Forward, kPoolLanes threads share an item, `width` channels of an image: each sums every kPoolLanes-th pixel in float,
// and their sums are added in the order of the lanes.
#ifndef SSD_MODELS_CUDA_FUNCTORS_GLOBAL_AVERAGE_POOL_H_
#define SSD_MODELS_CUDA_FUNCTORS_GLOBAL_AVERAGE_POOL_H_

#include <cstdint>

#include "common/host_device.h"
#include "models/cuda/functors/divisor.h"
#include "models/cuda/functors/half.h"
#include "models/cuda/functors/lanes.h"
#include "models/operations.h"

namespace ssd {

inline constexpr int kPoolLanes = 8;

// An item is a group of the output.
template <typename T, int kWidth>
struct GlobalAveragePoolForward {
  Divisor groups;  // of channels in a pixel
  int pixels;      // H * W
  const T* x;
  T* y;

  SSD_HOST_DEVICE Lanes<float, kWidth> LaneSum(uint32_t item, int pool_lane) const {
    const DivisorResult place = groups.Divide(item);
    const int64_t channels = static_cast<int64_t>(groups.value()) * kWidth;
    const T* from = x + static_cast<int64_t>(place.quotient) * pixels * channels +
                    static_cast<int64_t>(place.remainder) * kWidth;
    Lanes<float, kWidth> sum = {};
    for (int pixel = pool_lane; pixel < pixels; pixel += kPoolLanes) {
      const Lanes<T, kWidth> values = LoadLanes<kWidth>(from + pixel * channels);
      for (int lane = 0; lane < kWidth; ++lane) sum[lane] += ToFloat(values[lane]);
    }
    return sum;
  }

  // `sums`: of the item's lanes, `stride` apart.
  SSD_HOST_DEVICE void Write(uint32_t item, const Lanes<float, kWidth>* sums, int stride) const {
    Lanes<float, kWidth> sum = sums[0];
    for (int pool_lane = 1; pool_lane < kPoolLanes; ++pool_lane) {
      for (int lane = 0; lane < kWidth; ++lane) sum[lane] += sums[pool_lane * stride][lane];
    }
    Lanes<T, kWidth> mean;
    for (int lane = 0; lane < kWidth; ++lane)
      mean[lane] = FromFloat<T>(sum[lane] / static_cast<float>(pixels));
    StoreLanes<kWidth>(mean, y + static_cast<int64_t>(item) * kWidth);
  }
};

// dx = dy / (H W). An item is a group of the input.
template <typename T, int kWidth>
struct GlobalAveragePoolBackward {
  Divisor groups;        // of channels in a pixel
  Divisor image_pixels;  // H * W
  const T* dy;
  T* dx;

  SSD_HOST_DEVICE void operator()(uint32_t item) const {
    const DivisorResult pixel = groups.Divide(item);
    const uint32_t image = image_pixels.Divide(pixel.quotient).quotient;
    const int64_t from = (static_cast<int64_t>(image) * groups.value() + pixel.remainder) * kWidth;
    Lanes<T, kWidth> values = LoadLanes<kWidth>(dy + from);
    const auto count = static_cast<float>(image_pixels.value());
    for (int lane = 0; lane < kWidth; ++lane) values[lane] = FromFloat<T>(ToFloat(values[lane]) / count);
    StoreLanes<kWidth>(values, dx + static_cast<int64_t>(item) * kWidth);
  }
};

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_FUNCTORS_GLOBAL_AVERAGE_POOL_H_
