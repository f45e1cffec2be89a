// A GPU as a CudaRuntime, and whether there is one.
#ifndef SSD_MODELS_CUDA_GPU_H_
#define SSD_MODELS_CUDA_GPU_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "models/cuda/runtime.h"

namespace ssd {

struct GpuProperties {
  std::string name;
  int compute_capability = 0;  // 90 for 9.0
  int multiprocessors = 0;
  int64_t memory = 0;       // bytes
  int64_t free_memory = 0;  // bytes, when it was asked
};

// What GPU number `index` is. FailedPrecondition, with the driver's answer, where there is no GPU, no such one, or no driver
// for this version of CUDA.
absl::StatusOr<GpuProperties> FindGpu(int index);

// GPU number `index`. Uses it on whichever thread calls. REQUIRES: FindGpu(index) found it.
std::unique_ptr<CudaRuntime> OpenGpu(int index);

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_GPU_H_
