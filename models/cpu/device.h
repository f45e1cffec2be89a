// The CPU: convolutions, batch norm, pooling and linear layers by oneDNN, the rest by plain loops.
#ifndef SSD_MODELS_CPU_DEVICE_H_
#define SSD_MODELS_CPU_DEVICE_H_

#include <memory>

#include "models/device.h"

namespace ssd {

// A device that uses `threads` threads of libgomp. Its memory is the host's, so that operations take any
// pointer. REQUIRES: threads >= 1. Set OMP_WAIT_POLICY=passive where several processes share a machine.
std::unique_ptr<Device> MakeCpuDevice(int threads);

}  // namespace ssd

#endif  // SSD_MODELS_CPU_DEVICE_H_
