#include "models/cuda/functors/softmax_cross_entropy.h"

#include "models/cuda/functors/tree_sum.h"
#include "models/cuda/launch.cuh"

namespace ssd {
namespace {

// A warp is enough for CIFAR's classes; ImageNet's thousand want a block.
constexpr int kFewThreads = 32;
constexpr int kFewClasses = 128;

// The sum of all threads' parts, for all of them. `parts` is in shared memory, and may be written again after a
// __syncthreads.
template <int kThreads, typename Part>
__device__ const Part& SumOfBlock(Part* parts, const Part& mine) {
  parts[threadIdx.x] = mine;
  for (int stride = kThreads / 2; stride > 0; stride /= 2) {
    __syncthreads();
    TreeSumRound(parts, stride, threadIdx.x);
  }
  __syncthreads();
  return parts[0];
}

// Shared memory for parts whose constructors shared memory does not run.
template <typename Part, int kThreads>
struct Uninitialized {
  alignas(Part) unsigned char bytes[kThreads * sizeof(Part)];
  __device__ Part* parts() { return reinterpret_cast<Part*>(bytes); }
};

template <typename Gradient, int kThreads>
__global__ void __launch_bounds__(kThreads)
    SoftmaxCrossEntropyKernel(SoftmaxCrossEntropyStep<Gradient> step) {
  __shared__ Uninitialized<LogitScan, kThreads> scans;
  __shared__ double sums[kThreads];
  const int thread = threadIdx.x;
  for (int64_t sample = blockIdx.x; sample < step.batch; sample += gridDim.x) {
    const LogitScan scan = SumOfBlock<kThreads>(scans.parts(), step.Scan(sample, thread, kThreads));
    const double sum = SumOfBlock<kThreads>(sums, step.Exponentials(sample, scan, thread, kThreads));
    step.Finish(sample, scan, sum, thread, kThreads);
    __syncthreads();  // before the next sample writes over what this one may still read
  }
}

__global__ void __launch_bounds__(kThreadsOfBlock)
    BatchSummationKernel(BatchSummation operation, BatchSums* sums) {
  __shared__ Uninitialized<BatchSums, kThreadsOfBlock> parts;
  const BatchSums sum =
      SumOfBlock<kThreadsOfBlock>(parts.parts(), operation.ThreadSum(threadIdx.x, kThreadsOfBlock));
  if (threadIdx.x == 0) *sums = sum;
}

}  // namespace

template <typename Gradient>
void LaunchSoftmaxCrossEntropy(const KernelStream& to, const SoftmaxCrossEntropyStep<Gradient>& step) {
  CHECK(0 <= step.valid && step.valid <= step.batch) << step.valid;
  const int threads = step.classes <= kFewClasses ? kFewThreads : kThreadsOfBlock;
  const LaunchShape shape = ShapeForRows(step.batch, threads, to.multiprocessors);
  if (shape.blocks == 0) return;
  if (threads == kFewThreads) {
    SoftmaxCrossEntropyKernel<Gradient, kFewThreads><<<shape.blocks, shape.threads, 0, to.stream>>>(step);
  } else {
    SoftmaxCrossEntropyKernel<Gradient, kThreadsOfBlock><<<shape.blocks, shape.threads, 0, to.stream>>>(step);
  }
  SSD_CUDA_CHECK_LAUNCH("SoftmaxCrossEntropy");
}

void LaunchBatchSummation(const KernelStream& to, std::span<const SampleResult> results, BatchSums* sums) {
  const BatchSummation operation{.batch = static_cast<int64_t>(results.size()), .results = results.data()};
  BatchSummationKernel<<<1, kThreadsOfBlock, 0, to.stream>>>(operation, sums);
  SSD_CUDA_CHECK_LAUNCH("BatchSummation");
}

template void LaunchSoftmaxCrossEntropy(const KernelStream&, const SoftmaxCrossEntropyStep<float>&);
template void LaunchSoftmaxCrossEntropy(const KernelStream&, const SoftmaxCrossEntropyStep<BFloat16>&);
template void LaunchSoftmaxCrossEntropy(const KernelStream&, const SoftmaxCrossEntropyStep<Float16>&);

}  // namespace ssd
