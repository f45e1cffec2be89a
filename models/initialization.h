// The weights that a training starts from.
#ifndef SSD_MODELS_INITIALIZATION_H_
#define SSD_MODELS_INITIALIZATION_H_

#include <cstdint>
#include <span>

#include "common/parameter_layout.h"

namespace ssd {

// Fills both vectors as torchvision does:
//
//   convolution weight (O, I, H, W)   normal, mean 0, variance 2 / (O H W)   (He et al. 2015, fan out)
//   linear weight and bias            uniform in +-1 / sqrt(inputs)          (PyTorch's default)
//   batch norm                        scale 1, shift 0; running mean 0, running variance 1
//
// A pure function of the seed and the tensors' names and shapes, so that any process computes the same. Value
// i of a tensor (in the vector's order) comes from words z(2i) and z(2i + 1) of a counter-based generator:
//
//   z(j) = mix(mix(seed + g) ^ fnv1a64(name) + (j + 1) g)   mod 2^64, g = 0x9E3779B97F4A7C15
//   u(j) = (z(j) >> 11) / 2^53                              in [0, 1)
//
// with mix the finalizer of splitmix64 (Steele et al. 2014); uniform values are 2 u(2i) - 1, normal ones
// sqrt(-2 log(1 - u(2i))) cos(2 pi u(2i + 1)) (Box and Muller 1958). All is in double and rounded to float
// once, so that the last bit of a math library's log and cos does not show, or hardly ever.
//
// REQUIRES: the vectors have the layout's sizes.
void InitializeParameters(const ModelLayout& layout, uint64_t seed, std::span<float> parameters,
                          std::span<float> buffers);

}  // namespace ssd

#endif  // SSD_MODELS_INITIALIZATION_H_
