// Softmax cross entropy by plain loops in double: the logits are few.
#ifndef SSD_MODELS_CPU_SOFTMAX_CROSS_ENTROPY_H_
#define SSD_MODELS_CPU_SOFTMAX_CROSS_ENTROPY_H_

#include "models/operations.h"

namespace ssd {

class CpuSoftmaxCrossEntropy final : public SoftmaxCrossEntropy {
 public:
  CpuSoftmaxCrossEntropy(int64_t batch, int64_t classes) : batch_(batch), classes_(classes) {}

  void Forward(const float* logits, const int32_t* labels, int64_t valid) override;
  BatchResult Result() override { return result_; }
  void Backward(const float* logits, const int32_t* labels, void* dlogits) override;

 private:
  const int64_t batch_;
  const int64_t classes_;
  BatchResult result_;
};

}  // namespace ssd

#endif  // SSD_MODELS_CPU_SOFTMAX_CROSS_ENTROPY_H_
