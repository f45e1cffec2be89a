#include "models/cuda/max_pool.h"

#include "common/logging.h"

namespace ssd {

CudaMaxPool::CudaMaxPool(const CudaContext& context, const PoolShape& shape)
    : context_(context),
      shape_(shape),
      which_(context.runtime, CudaRuntime::Place::kDevice, shape.output().size()) {
  CHECK(0 <= shape.padding && shape.padding <= shape.kernel / 2) << shape.padding;
}

void CudaMaxPool::Forward(const void* x, void* y) {
  WithValueType(context_.precision, [&]<typename T>(T*) {
    const std::span<const T> from = ReadValues<T>(x, shape_.input.size());
    const std::span<T> result = WrittenValues<T>(y, shape_.output().size());
    context_.runtime.Launch(CudaStream::kCompute, "max pool", {Reads(from), Writes(result), Writes(which())},
                            [&](const KernelStream& to) {
                              LaunchMaxPool(to, shape_, from.data(), result.data(), which().data());
                            });
  });
}

void CudaMaxPool::Backward(const void* dy, void* dx) {
  WithValueType(context_.precision, [&]<typename T>(T*) {
    const std::span<const T> from = ReadValues<T>(dy, shape_.output().size());
    const std::span<T> result = WrittenValues<T>(dx, shape_.input.size());
    context_.runtime.Launch(CudaStream::kCompute, "max pool, backward",
                            {Reads(from), Reads(which()), Writes(result)}, [&](const KernelStream& to) {
                              LaunchMaxPoolGradient(to, shape_, from.data(), which().data(), result.data());
                            });
  });
}

}  // namespace ssd
