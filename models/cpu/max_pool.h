// Max pooling by oneDNN.
#ifndef SSD_MODELS_CPU_MAX_POOL_H_
#define SSD_MODELS_CPU_MAX_POOL_H_

#include <memory>
#include <optional>

#include "models/cpu/primitive.h"

namespace ssd {

// `runtime` outlives it.
class CpuMaxPool final : public MaxPool {
 public:
  CpuMaxPool(CpuRuntime& runtime, const PoolShape& shape);

  void Forward(const void* x, void* y) override { forward_->Run({x, y, workspace_->data()}); }
  void Backward(const void* dy, void* dx) override { backward_->Run({dy, workspace_->data(), dx}); }

 private:
  std::unique_ptr<AlignedArray> workspace_;  // which of its window's values each output is
  std::optional<Primitive> forward_;
  std::optional<Primitive> backward_;
};

}  // namespace ssd

#endif  // SSD_MODELS_CPU_MAX_POOL_H_
