#include "models/cpu/channel_affine.h"

namespace ssd {

void ChannelAffine::Apply(const float* x, float* y) const {
  const int64_t channels = options_.shape.channels;
  const double* __restrict factor = factor_.data();
  const double* __restrict offset = offset_.data();
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < options_.shape.size() / channels; ++row) {
    const float* __restrict from = x + row * channels;
    float* __restrict to = y + row * channels;
    for (int64_t c = 0; c < channels; ++c) to[c] = static_cast<float>(from[c] * factor[c] + offset[c]);
  }
}

}  // namespace ssd
