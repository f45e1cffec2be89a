#include "models/cuda/functors/global_average_pool.h"
#include "models/cuda/functors/max_pool.h"
#include "models/cuda/launch.cuh"

namespace ssd {
namespace {

constexpr int kMaxKernel = 15;  // whose 225 places fit in a byte

void CheckPool(const PoolShape& shape) {
  CHECK(0 <= shape.padding && shape.padding <= shape.kernel / 2) << shape.padding;
  CHECK_LE(shape.kernel, kMaxKernel);
  CHECK_LE(shape.input.size(), std::numeric_limits<int32_t>::max());
  CHECK_LE(shape.output().size(), std::numeric_limits<int32_t>::max());
}

PoolWindow WindowOf(const PoolShape& shape) {
  return {.kernel = static_cast<int>(shape.kernel),
          .stride = static_cast<int>(shape.stride),
          .padding = static_cast<int>(shape.padding)};
}

// kPoolLanes rows of threads, each with neighbouring items, so that neighbours read neighbouring channels.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreadsOfBlock)
    GlobalAveragePoolKernel(GlobalAveragePoolForward<T, kWidth> operation, uint32_t items) {
  constexpr int kItems = kThreadsOfBlock / kPoolLanes;  // of a block, at a time
  __shared__ Lanes<float, kWidth> sums[kThreadsOfBlock];
  const int place = threadIdx.x % kItems;
  const int pool_lane = threadIdx.x / kItems;
  for (uint32_t first = blockIdx.x * kItems; first < items; first += gridDim.x * kItems) {
    const uint32_t item = first + place;
    if (item < items) sums[threadIdx.x] = operation.LaneSum(item, pool_lane);
    __syncthreads();
    if (item < items && pool_lane == 0) operation.Write(item, sums + place, kItems);
    __syncthreads();
  }
}

}  // namespace

template <typename T>
void LaunchMaxPool(const KernelStream& to, const PoolShape& shape, const T* x, T* y, uint8_t* which) {
  CheckPool(shape);
  const bool fits =
      shape.input.channels % kAccessWidth<T> == 0 && IsAligned(x) && IsAligned(y) && IsAligned(which);
  WithWidth<T>(fits, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    const ChannelGroups input(shape.input, kWidth), output(shape.output(), kWidth);
    LaunchItems(to, "MaxPool", MaxPoolForward<T, kWidth>{input, output, WindowOf(shape), x, y, which},
                output.items());
  });
}

template <typename T>
void LaunchMaxPoolGradient(const KernelStream& to, const PoolShape& shape, const T* dy, const uint8_t* which,
                           T* dx) {
  CheckPool(shape);
  const bool fits =
      shape.input.channels % kAccessWidth<T> == 0 && IsAligned(dy) && IsAligned(dx) && IsAligned(which);
  WithWidth<T>(fits, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    const ChannelGroups input(shape.input, kWidth), output(shape.output(), kWidth);
    LaunchItems(to, "MaxPoolGradient",
                MaxPoolBackward<T, kWidth>{input, output, WindowOf(shape), dy, which, dx}, input.items());
  });
}

template <typename T>
void LaunchGlobalAveragePool(const KernelStream& to, const ActivationShape& input, const T* x, T* y) {
  CHECK_LE(input.size(), std::numeric_limits<int32_t>::max());
  const bool fits = input.channels % kAccessWidth<T> == 0 && IsAligned(x) && IsAligned(y);
  WithWidth<T>(fits, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    const GlobalAveragePoolForward<T, kWidth> operation{
        .groups = Divisor(input.channels / kWidth),
        .pixels = static_cast<int>(input.height * input.width),
        .x = x,
        .y = y};
    const int64_t items = input.batch * input.channels / kWidth;
    const LaunchShape shape = ShapeForItems(items * kPoolLanes, to.multiprocessors);
    if (shape.blocks == 0) return;
    GlobalAveragePoolKernel<<<shape.blocks, shape.threads, 0, to.stream>>>(operation,
                                                                           static_cast<uint32_t>(items));
    SSD_CUDA_CHECK_LAUNCH("GlobalAveragePool");
  });
}

template <typename T>
void LaunchGlobalAveragePoolGradient(const KernelStream& to, const ActivationShape& input, const T* dy,
                                     T* dx) {
  const bool fits = input.channels % kAccessWidth<T> == 0 && IsAligned(dy) && IsAligned(dx);
  WithWidth<T>(fits, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    const GlobalAveragePoolBackward<T, kWidth> operation{.groups = Divisor(input.channels / kWidth),
                                                         .image_pixels = Divisor(input.height * input.width),
                                                         .dy = dy,
                                                         .dx = dx};
    LaunchItems(to, "GlobalAveragePoolGradient", operation, input.size() / kWidth);
  });
}

#define SSD_INSTANTIATE(T)                                                                                  \
  template void LaunchMaxPool(const KernelStream&, const PoolShape&, const T*, T*, uint8_t*);               \
  template void LaunchMaxPoolGradient(const KernelStream&, const PoolShape&, const T*, const uint8_t*, T*); \
  template void LaunchGlobalAveragePool(const KernelStream&, const ActivationShape&, const T*, T*);         \
  template void LaunchGlobalAveragePoolGradient(const KernelStream&, const ActivationShape&, const T*, T*);
SSD_INSTANTIATE(float)
SSD_INSTANTIATE(BFloat16)
SSD_INSTANTIATE(Float16)
#undef SSD_INSTANTIATE

}  // namespace ssd
