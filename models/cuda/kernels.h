// The kernels that no library has, as functions that put one into a stream and return at once. docs/cuda_kernels.md lists
// them and the bytes that each moves; functors/ holds their arithmetic, which the host runs too.
//
// All pointers are into the device's memory, and stay valid until the stream has come past the kernel. T is float,
// BFloat16 or Float16; sums are made in float. Nothing is allocated, and nothing is waited for, so all of them can be
// captured in a CUDA graph. What is passed by value is then captured too; what changes from step to step in a graph is
// passed by pointer. A launch that fails ends the process (check.h). Any number of threads may call them.
#ifndef SSD_MODELS_CUDA_KERNELS_H_
#define SSD_MODELS_CUDA_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "models/batch.h"
#include "models/cuda/functors/half.h"
#include "models/cuda/functors/softmax_cross_entropy.h"
#include "models/local_update_arithmetic.h"
#include "models/operations.h"

namespace ssd {

// Where kernels go.
struct KernelStream {
  cudaStream_t stream = nullptr;
  int multiprocessors = 1;  // of the device: cudaDevAttrMultiProcessorCount
};

// Local updates: models/local_update_pass.h, on the device. All spans of a call have one size, and none overlap.
void LaunchSgd(const KernelStream& to, const LocalStep& step, std::span<const float> g, std::span<float> x);
void LaunchGlu(const KernelStream& to, const LocalStep& step, std::span<const float> g,
               std::span<const float> global, std::span<float> x);
void LaunchMomentum(const KernelStream& to, const LocalStep& step, std::span<const float> g,
                    std::span<float> u, std::span<float> x);
void LaunchAccumulateVelocity(const KernelStream& to, const LocalStep& step, std::span<const float> g,
                              std::span<const float> x, std::span<float> u);
void LaunchGluMomentum(const KernelStream& to, const LocalStep& step, std::span<const float> g,
                       std::span<float> v, std::span<float> x);
void LaunchGluPrototype(const KernelStream& to, const LocalStep& step, bool renew, std::span<const float> g,
                        std::span<float> snapshot, std::span<float> x);
void LaunchDcLocal(const KernelStream& to, const LocalStep& step, std::span<const float> g,
                   std::span<const float> last, std::span<float> x);
void LaunchInstallDifference(const KernelStream& to, float inverse_passed, std::span<const float> last,
                             std::span<const float> pulled, std::span<float> difference, std::span<float> x);
void LaunchInstallCorrection(const KernelStream& to, float inverse_passed, std::span<const float> pulled,
                             std::span<float> u, std::span<float> x);

// result = from. One of the two types is float, and the other is not.
template <typename From, typename To>
void LaunchCast(const KernelStream& to, std::span<const From> from, std::span<To> result);

// gradient = scaled * *inverse_scale; *non_finite becomes 1 if any gradient is an infinity or a NaN, and else stays.
// `gradient` may be `scaled`, where both are floats.
template <typename T>
void LaunchUnscale(const KernelStream& to, std::span<const T> scaled, const float* inverse_scale,
                   std::span<float> gradient, int32_t* non_finite);

// sum += x
template <typename T>
void LaunchAccumulate(const KernelStream& to, std::span<const T> x, std::span<T> sum);

// A batch of draws.size() normalised images, from `pixels` (images of the data set, H, W, C) and `values` (C, 256),
// Normalizer::values(). REQUIRES: 1 to 3 channels; less than 2^31 values.
template <typename T>
void LaunchImageNormalization(const KernelStream& to, const ImageShape& shape, const uint8_t* pixels,
                              std::span<const DrawnImage> draws, const float* values, T* images);

// functors/softmax_cross_entropy.h, over step.batch samples. `Gradient` is a T.
template <typename Gradient>
void LaunchSoftmaxCrossEntropy(const KernelStream& to, const SoftmaxCrossEntropyStep<Gradient>& step);
// *sums = the sum of the results of a batch.
void LaunchBatchSummation(const KernelStream& to, std::span<const SampleResult> results, BatchSums* sums);

// The end of a residual block, where no library has it in one pass (shortcut A): y = x + shortcut(s), with `relu` the
// larger of that and 0. `y` may be `x`. REQUIRES: as MakeResidualNorm; less than 2^31 values.
template <typename T>
void LaunchShortcut(const KernelStream& to, const ActivationShape& output, const ActivationShape& shortcut,
                    bool relu, const T* x, const T* s, T* y);
// With `relu`, dy becomes 0 where y is 0. Then ds += shortcut^T(dy).
template <typename T>
void LaunchShortcutGradient(const KernelStream& to, const ActivationShape& output,
                            const ActivationShape& shortcut, bool relu, const T* y, T* dy, T* ds);

// `which`, a byte for each output, goes from forward to backward. REQUIRES: shape.kernel <= 15; as MakeMaxPool; less than
// 2^31 values.
template <typename T>
void LaunchMaxPool(const KernelStream& to, const PoolShape& shape, const T* x, T* y, uint8_t* which);
template <typename T>
void LaunchMaxPoolGradient(const KernelStream& to, const PoolShape& shape, const T* dy, const uint8_t* which,
                           T* dx);

// REQUIRES: less than 2^31 values.
template <typename T>
void LaunchGlobalAveragePool(const KernelStream& to, const ActivationShape& input, const T* x, T* y);
template <typename T>
void LaunchGlobalAveragePoolGradient(const KernelStream& to, const ActivationShape& input, const T* dy,
                                     T* dx);

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_KERNELS_H_
