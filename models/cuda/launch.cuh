// The two loops that most kernels are: over the items of arrays of one size, and over the items of a functor that finds
// its own places. For .cu files.
#ifndef SSD_MODELS_CUDA_LAUNCH_CUH_
#define SSD_MODELS_CUDA_LAUNCH_CUH_

#include <cstdint>
#include <limits>

#include "common/logging.h"
#include "models/cuda/check.h"
#include "models/cuda/functors/elementwise.h"
#include "models/cuda/kernels.h"
#include "models/cuda/launch_shape.h"

namespace ssd {

template <int kWidth, typename Operation, typename... Arrays>
__global__ void __launch_bounds__(kThreadsOfBlock)
    ElementwiseKernel(Operation operation, ElementSplit split, Arrays... arrays) {
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t items = split.items();
  const auto prepared = PreparedOf(operation);
  for (int64_t item = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; item < items;
       item += threads) {
    ApplyItem<kWidth>(prepared, split, item, arrays...);
  }
}

// `name`: for the message where the launch fails.
template <typename Operation, typename... Arrays>
void LaunchElementwise(const KernelStream& to, const char* name, const Operation& operation, int64_t size,
                       Arrays... arrays) {
  const ElementSplit split = SplitArrays(size, arrays...);
  const LaunchShape shape = ShapeForItems(split.items(), to.multiprocessors);
  if (shape.blocks == 0) return;
  ElementwiseKernel<WidthOf<Arrays...>()>
      <<<shape.blocks, shape.threads, 0, to.stream>>>(operation, split, arrays...);
  SSD_CUDA_CHECK_LAUNCH(name);
}

// operation(item) for each item below `items`.
template <typename Operation>
__global__ void __launch_bounds__(kThreadsOfBlock) ItemKernel(Operation operation, uint32_t items) {
  const uint32_t threads = gridDim.x * blockDim.x;
  for (uint32_t item = blockIdx.x * blockDim.x + threadIdx.x; item < items; item += threads) operation(item);
}

template <typename Operation>
void LaunchItems(const KernelStream& to, const char* name, const Operation& operation, int64_t items) {
  CHECK_LE(items, std::numeric_limits<int32_t>::max()) << name;
  const LaunchShape shape = ShapeForItems(items, to.multiprocessors);
  if (shape.blocks == 0) return;
  ItemKernel<<<shape.blocks, shape.threads, 0, to.stream>>>(operation, static_cast<uint32_t>(items));
  SSD_CUDA_CHECK_LAUNCH(name);
}

// Calls launch(width) with the values of a T that one item has: those of 16 bytes if they fit, else one.
template <typename T, typename Launch>
void WithWidth(bool fits, Launch launch) {
  if (fits) return launch(std::integral_constant<int, kAccessWidth<T>>());
  launch(std::integral_constant<int, 1>());
}

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_LAUNCH_CUH_
