#include "models/cuda/accumulation.h"

namespace ssd {

void CudaAccumulation::Add(const void* x, void* sum) {
  WithValueType(context_.precision, [&]<typename T>(T*) {
    const std::span<const T> from = ReadValues<T>(x, size_);
    const std::span<T> to_sum = WrittenValues<T>(sum, size_);
    context_.runtime.Launch(CudaStream::kCompute, "sum of gradients", {Reads(from), Writes(to_sum)},
                            [&](const KernelStream& to) { LaunchAccumulate(to, from, to_sum); });
  });
}

}  // namespace ssd
