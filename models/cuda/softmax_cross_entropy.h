// The loss, by a kernel of our own.
#ifndef SSD_MODELS_CUDA_SOFTMAX_CROSS_ENTROPY_H_
#define SSD_MODELS_CUDA_SOFTMAX_CROSS_ENTROPY_H_

#include "models/cuda/context.h"
#include "models/operations.h"

namespace ssd {

// `context` outlives it.
class CudaSoftmaxCrossEntropy final : public SoftmaxCrossEntropy {
 public:
  CudaSoftmaxCrossEntropy(const CudaContext& context, int64_t batch, int64_t classes);

  void Forward(const float* logits, const int32_t* labels, int64_t valid) override;
  // Waits for that alone: what came after it in the stream may still run.
  BatchResult Result() override;
  void Backward(const float* logits, const int32_t* labels, void* dlogits) override;

 private:
  const CudaContext& context_;
  const int64_t batch_;
  const int64_t classes_;
  const CudaBytes samples_;  // SampleResult, (N)
  const CudaBytes sums_;     // BatchSums
  const CudaBytes arrived_;  // the same in the host's memory
  const CudaRuntime::Event arrival_;
  int64_t valid_ = 0;
};

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_SOFTMAX_CROSS_ENTROPY_H_
