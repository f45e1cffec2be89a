// Ends the process where a call of CUDA fails: it is a bug, or the GPU is gone, and no caller could go on.
//
//   SSD_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
//
//   SgdKernel<<<blocks, threads, 0, stream>>>(...);
//   SSD_CUDA_CHECK_LAUNCH("SgdKernel");
//
// The line names the call, its file and line, and CUDA's reason. A kernel's own failure comes to light only later, in the
// next call that waits for the device; its launch is what SSD_CUDA_CHECK_LAUNCH checks.
#ifndef SSD_MODELS_CUDA_CHECK_H_
#define SSD_MODELS_CUDA_CHECK_H_

#include <cuda_runtime_api.h>

#include "common/logging.h"

namespace ssd {

inline void CheckCuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  LogMessage(LogSeverity::kFatal, file, line).stream()
      << call << ": " << cudaGetErrorName(status) << ": " << cudaGetErrorString(status);
}

}  // namespace ssd

#define SSD_CUDA_CHECK(call) ::ssd::CheckCuda((call), #call, __FILE__, __LINE__)
#define SSD_CUDA_CHECK_LAUNCH(kernel) ::ssd::CheckCuda(cudaGetLastError(), kernel, __FILE__, __LINE__)

#endif  // SSD_MODELS_CUDA_CHECK_H_
