// Max pooling by kernels of our own, which remember a byte for each output.
#ifndef SSD_MODELS_CUDA_MAX_POOL_H_
#define SSD_MODELS_CUDA_MAX_POOL_H_

#include "models/cuda/context.h"
#include "models/operations.h"

namespace ssd {

// `context` outlives it.
class CudaMaxPool final : public MaxPool {
 public:
  CudaMaxPool(const CudaContext& context, const PoolShape& shape);

  void Forward(const void* x, void* y) override;
  void Backward(const void* dy, void* dx) override;

 private:
  std::span<uint8_t> which() const { return WrittenValues<uint8_t>(which_.data(), shape_.output().size()); }

  const CudaContext& context_;
  const PoolShape shape_;
  const CudaBytes which_;  // of its window's values each output is
};

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_MAX_POOL_H_
