// A device on which a network is its oneDNN primitives and nothing else: what a training step is measured against.
//
// Convolutions, batch norms, pooling and the classifier are one primitive each, with the descriptions and layouts of
// models/cpu, run in the network's order on arrays that lie as the network's do. Left out is what a step does beside
// them: weights stay in the layouts that the primitives like, where they were brought once; the batch's statistics
// are oneDNN's own; the end of a residual block is a batch norm with its ReLU, without the shortcut. So it computes
// another network of the same work, and its results mean nothing.
//
// Not thread-safe.
#ifndef SSD_TESTS_BENCHMARK_ONEDNN_DEVICE_H_
#define SSD_TESTS_BENCHMARK_ONEDNN_DEVICE_H_

#include <memory>

#include "models/device.h"

namespace ssd::benchmarks {

// Seconds spent in primitives, both passes together; each operation adds its own.
struct PrimitiveSeconds {
  double forward = 0;           // of convolutions
  double backward_data = 0;     // of convolutions
  double backward_weights = 0;  // of convolutions
  double batch_norm = 0;        // with ReLU
  double other = 0;             // pooling and the classifier

  double total() const { return forward + backward_data + backward_weights + batch_norm + other; }
};

// `seconds` outlives the device.
std::unique_ptr<Device> MakeOneDnnDevice(int threads, PrimitiveSeconds& seconds);

// oneDNN's product of two square matrices of `size` rows, all of them of size * size floats: c = a b.
void OneDnnSgemm(int threads, int64_t size, const float* a, const float* b, float* c);

}  // namespace ssd::benchmarks

#endif  // SSD_TESTS_BENCHMARK_ONEDNN_DEVICE_H_
