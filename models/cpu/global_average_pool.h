// Global average pooling by oneDNN.
#ifndef SSD_MODELS_CPU_GLOBAL_AVERAGE_POOL_H_
#define SSD_MODELS_CPU_GLOBAL_AVERAGE_POOL_H_

#include <optional>

#include "models/cpu/primitive.h"

namespace ssd {

// `runtime` outlives it.
class CpuGlobalAveragePool final : public GlobalAveragePool {
 public:
  CpuGlobalAveragePool(CpuRuntime& runtime, const ActivationShape& input);

  void Forward(const void* x, void* y) override { forward_->Run({x, y}); }
  void Backward(const void* dy, void* dx) override { backward_->Run({dy, dx}); }

 private:
  std::optional<Primitive> forward_;
  std::optional<Primitive> backward_;
};

}  // namespace ssd

#endif  // SSD_MODELS_CPU_GLOBAL_AVERAGE_POOL_H_
