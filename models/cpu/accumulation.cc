#include "models/cpu/accumulation.h"

namespace ssd {

void CpuAccumulation::Add(const void* x, void* sum) {
  const float* from = static_cast<const float*>(x);
  float* to = static_cast<float*>(sum);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < size_; ++i) to[i] += from[i];
}

}  // namespace ssd
