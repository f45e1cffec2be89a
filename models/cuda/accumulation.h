// A sum by a kernel of our own.
#ifndef SSD_MODELS_CUDA_ACCUMULATION_H_
#define SSD_MODELS_CUDA_ACCUMULATION_H_

#include "models/cuda/context.h"
#include "models/operations.h"

namespace ssd {

// `context` outlives it.
class CudaAccumulation final : public Accumulation {
 public:
  CudaAccumulation(const CudaContext& context, int64_t size) : context_(context), size_(size) {}

  void Add(const void* x, void* sum) override;

 private:
  const CudaContext& context_;
  const int64_t size_;
};

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_ACCUMULATION_H_
