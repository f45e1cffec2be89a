#include "models/cuda/global_average_pool.h"

namespace ssd {

void CudaGlobalAveragePool::Forward(const void* x, void* y) {
  WithValueType(context_.precision, [&]<typename T>(T*) {
    const std::span<const T> from = ReadValues<T>(x, input_.size());
    const std::span<T> result = WrittenValues<T>(y, means());
    context_.runtime.Launch(
        CudaStream::kCompute, "average pool", {Reads(from), Writes(result)},
        [&](const KernelStream& to) { LaunchGlobalAveragePool(to, input_, from.data(), result.data()); });
  });
}

void CudaGlobalAveragePool::Backward(const void* dy, void* dx) {
  WithValueType(context_.precision, [&]<typename T>(T*) {
    const std::span<const T> from = ReadValues<T>(dy, means());
    const std::span<T> result = WrittenValues<T>(dx, input_.size());
    context_.runtime.Launch(CudaStream::kCompute, "average pool, backward", {Reads(from), Writes(result)},
                            [&](const KernelStream& to) {
                              LaunchGlobalAveragePoolGradient(to, input_, from.data(), result.data());
                            });
  });
}

}  // namespace ssd
