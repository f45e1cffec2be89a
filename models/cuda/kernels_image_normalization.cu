#include "models/cuda/functors/image_normalization.h"
#include "models/cuda/launch.cuh"

namespace ssd {
namespace {

constexpr int kMaxChannels = 3;

// The table of values is read once a byte, at addresses that differ from thread to thread: shared memory is made for it.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreadsOfBlock)
    ImageNormalizationKernel(ImageNormalization<T, kWidth> operation, uint32_t items) {
  __shared__ float values[kMaxChannels * kByteValues];
  const int count = static_cast<int>(operation.shape.channels) * kByteValues;
  for (int i = threadIdx.x; i < count; i += blockDim.x) values[i] = operation.values[i];
  __syncthreads();
  operation.values = values;
  const uint32_t threads = gridDim.x * blockDim.x;
  for (uint32_t item = blockIdx.x * blockDim.x + threadIdx.x; item < items; item += threads) operation(item);
}

}  // namespace

template <typename T>
void LaunchImageNormalization(const KernelStream& to, const ImageShape& shape, const uint8_t* pixels,
                              std::span<const DrawnImage> draws, const float* values, T* images) {
  CHECK(shape.channels >= 1 && shape.channels <= kMaxChannels) << shape.channels;
  const auto batch = static_cast<int64_t>(draws.size());
  CHECK_LE(batch * shape.size(), std::numeric_limits<int32_t>::max());
  WithWidth<T>(IsAligned(images), [&](auto width) {
    const ImageNormalization<T, decltype(width)::value> operation(shape, batch, pixels, draws.data(), values,
                                                                  images);
    const LaunchShape launch = ShapeForItems(operation.items(), to.multiprocessors);
    if (launch.blocks == 0) return;
    ImageNormalizationKernel<<<launch.blocks, launch.threads, 0, to.stream>>>(
        operation, static_cast<uint32_t>(operation.items()));
    SSD_CUDA_CHECK_LAUNCH("ImageNormalization");
  });
}

template void LaunchImageNormalization(const KernelStream&, const ImageShape&, const uint8_t*,
                                       std::span<const DrawnImage>, const float*, float*);
template void LaunchImageNormalization(const KernelStream&, const ImageShape&, const uint8_t*,
                                       std::span<const DrawnImage>, const float*, BFloat16*);
template void LaunchImageNormalization(const KernelStream&, const ImageShape&, const uint8_t*,
                                       std::span<const DrawnImage>, const float*, Float16*);

}  // namespace ssd
