// A sum by a plain loop.
#ifndef SSD_MODELS_CPU_ACCUMULATION_H_
#define SSD_MODELS_CPU_ACCUMULATION_H_

#include "models/operations.h"

namespace ssd {

class CpuAccumulation final : public Accumulation {
 public:
  explicit CpuAccumulation(int64_t size) : size_(size) {}

  void Add(const void* x, void* sum) override;

 private:
  const int64_t size_;
};

}  // namespace ssd

#endif  // SSD_MODELS_CPU_ACCUMULATION_H_
