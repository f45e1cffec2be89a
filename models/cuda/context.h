// What the operations of one GPU share, and small things that they are made of.
#ifndef SSD_MODELS_CUDA_CONTEXT_H_
#define SSD_MODELS_CUDA_CONTEXT_H_

#include <cstdint>

#include "models/cuda/functors/half.h"
#include "models/cuda/precision.h"
#include "models/cuda/runtime.h"
#include "models/device.h"

namespace ssd {

struct CudaContext {
  CudaRuntime& runtime;
  Precision precision;

  // Of an activation's value.
  int64_t value_bytes() const { return IsHalf(precision) ? 2 : 4; }
};

// Calls run with a null pointer to the type of an activation's values.
template <typename Run>
void WithValueType(Precision precision, Run run) {
  switch (precision) {
    case Precision::kFloat32:
    case Precision::kTf32:
      return run(static_cast<float*>(nullptr));
    case Precision::kBfloat16:
      return run(static_cast<BFloat16*>(nullptr));
    case Precision::kFloat16:
      return run(static_cast<Float16*>(nullptr));
  }
}

// Owns memory.
class CudaBytes final : public ActivationArray {
 public:
  CudaBytes(CudaRuntime& runtime, CudaRuntime::Place place, int64_t bytes)
      : runtime_(runtime), place_(place), data_(runtime.Allocate(place, bytes)) {}
  CudaBytes(const CudaBytes&) = delete;
  CudaBytes& operator=(const CudaBytes&) = delete;
  ~CudaBytes() override { runtime_.Free(place_, data_); }

  void* data() const override { return data_; }

 private:
  CudaRuntime& runtime_;
  const CudaRuntime::Place place_;
  void* const data_;
};

// An activation of `count` values as a piece of work's access.
template <typename T>
std::span<const T> ReadValues(const void* data, int64_t count) {
  return {static_cast<const T*>(data), static_cast<size_t>(count)};
}
template <typename T>
std::span<T> WrittenValues(void* data, int64_t count) {
  return {static_cast<T*>(data), static_cast<size_t>(count)};
}

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_CONTEXT_H_
