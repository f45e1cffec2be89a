#include "models/cpu/accumulation.h"

namespace ssd {

void CpuAccumulation::Add(const float* x, float* sum) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < size_; ++i) sum[i] += x[i];
}

}  // namespace ssd
