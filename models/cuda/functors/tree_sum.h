// The order in which the threads of a block add up what each has, a power of two of them: half of them add the other
// half's, and so on.
//
//   stride = threads / 2, threads / 4, ..., 1:   parts[i] += parts[i + stride] for i < stride
//
// The same order gives the same bits, on any device; floats that are added otherwise differ in their last places.
#ifndef SSD_MODELS_CUDA_FUNCTORS_TREE_SUM_H_
#define SSD_MODELS_CUDA_FUNCTORS_TREE_SUM_H_

#include "common/host_device.h"

namespace ssd {

// What thread `thread` does in the round of `stride`. Between rounds all threads wait for each other.
template <typename Part>
SSD_HOST_DEVICE inline void TreeSumRound(Part* parts, int stride, int thread) {
  if (thread < stride) parts[thread] += parts[thread + stride];
}

// All of it by one thread: parts[0] becomes the sum.
template <typename Part>
void TreeSum(Part* parts, int threads) {
  for (int stride = threads / 2; stride > 0; stride /= 2) {
    for (int thread = 0; thread < stride; ++thread) TreeSumRound(parts, stride, thread);
  }
}

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_FUNCTORS_TREE_SUM_H_
