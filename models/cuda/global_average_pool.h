// Global average pooling by kernels of our own.
#ifndef SSD_MODELS_CUDA_GLOBAL_AVERAGE_POOL_H_
#define SSD_MODELS_CUDA_GLOBAL_AVERAGE_POOL_H_

#include "models/cuda/context.h"
#include "models/operations.h"

namespace ssd {

// `context` outlives it.
class CudaGlobalAveragePool final : public GlobalAveragePool {
 public:
  CudaGlobalAveragePool(const CudaContext& context, const ActivationShape& input)
      : context_(context), input_(input) {}

  void Forward(const void* x, void* y) override;
  void Backward(const void* dy, void* dx) override;

 private:
  int64_t means() const { return input_.batch * input_.channels; }

  const CudaContext& context_;
  const ActivationShape input_;
};

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_GLOBAL_AVERAGE_POOL_H_
