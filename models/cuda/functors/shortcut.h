// The shortcut of a residual block into its end (models/operations.h, ResidualNorm), for blocks whose shapes differ and
// for those whose do not: y = max(0, x + shortcut(s)) and the way back, both in one pass.
//
// Shortcut A takes every stride-th row and column of s, and its channels stand at `before` and after it; so each value of
// s goes to one place at most, and the gradient needs no atomic addition.
#ifndef SSD_MODELS_CUDA_FUNCTORS_SHORTCUT_H_
#define SSD_MODELS_CUDA_FUNCTORS_SHORTCUT_H_

#include <cstdint>

#include "common/host_device.h"
#include "models/cuda/functors/divisor.h"
#include "models/cuda/functors/half.h"
#include "models/cuda/functors/lanes.h"
#include "models/operations.h"

namespace ssd {

// Where the groups of `width` channels of the output are, and what the shortcut adds to them.
class ShortcutMap {
 public:
  // REQUIRES: as MakeResidualNorm; the channels of both, and those before, are multiples of `width`;
  // output.size() / width < 2^31.
  ShortcutMap(const ActivationShape& output, const ActivationShape& shortcut, int width)
      : width_(width),
        stride_((shortcut.height + output.height - 1) / output.height),
        before_((output.channels - shortcut.channels) / 2),
        items_(output.size() / width),
        s_height_(shortcut.height),
        s_width_(shortcut.width),
        s_channels_(shortcut.channels),
        groups_(output.channels / width),
        columns_(output.width),
        rows_(output.height) {}

  int64_t items() const { return items_; }

  // The first value of an item, in the output.
  SSD_HOST_DEVICE int64_t Output(uint32_t item) const { return static_cast<int64_t>(item) * width_; }

  // Of the shortcut; -1 where it adds zeros.
  SSD_HOST_DEVICE int64_t Shortcut(uint32_t item) const {
    const DivisorResult pixel = groups_.Divide(item);
    const int64_t channel = static_cast<int64_t>(pixel.remainder) * width_ - before_;
    if (channel < 0 || channel >= s_channels_) return -1;
    const DivisorResult row = columns_.Divide(pixel.quotient);
    const DivisorResult image = rows_.Divide(row.quotient);
    const int64_t s_row = image.quotient * s_height_ + image.remainder * stride_;
    return (s_row * s_width_ + row.remainder * stride_) * s_channels_ + channel;
  }

 private:
  int width_;
  int64_t stride_;
  int64_t before_;
  int64_t items_;
  int64_t s_height_, s_width_, s_channels_;
  Divisor groups_, columns_, rows_;
};

// The widest groups that fit: `widest` channels, or single ones.
inline int ShortcutWidth(const ActivationShape& output, const ActivationShape& shortcut, int widest) {
  const int64_t before = (output.channels - shortcut.channels) / 2;
  const bool fits = output.channels % widest == 0 && shortcut.channels % widest == 0 && before % widest == 0;
  return fits ? widest : 1;
}

// y = x + shortcut(s), with kRelu the larger of that and 0; a NaN stays one. `y` may be `x`.
template <typename T, int kWidth, bool kRelu>
struct ShortcutForward {
  ShortcutMap map;
  const T* x;  // (N, H, W, C) of the output
  const T* s;  // of the shortcut
  T* y;

  SSD_HOST_DEVICE void operator()(uint32_t item) const {
    Lanes<T, kWidth> values = LoadLanes<kWidth>(x + map.Output(item));
    const int64_t from = map.Shortcut(item);
    Lanes<T, kWidth> added = {};
    if (from >= 0) added = LoadLanes<kWidth>(s + from);
    for (int lane = 0; lane < kWidth; ++lane) {
      const float sum = ToFloat(values[lane]) + ToFloat(added[lane]);
      values[lane] = FromFloat<T>(kRelu && sum < 0 ? 0.0f : sum);
    }
    StoreLanes<kWidth>(values, y + map.Output(item));
  }
};

// With kRelu, dy becomes 0 where y <= 0; where y is a NaN it stays, so that a check of the gradient sees what it is.
// Then ds += shortcut^T(dy).
template <typename T, int kWidth, bool kRelu>
struct ShortcutBackward {
  ShortcutMap map;
  const T* y;  // with kRelu
  T* dy;
  T* ds;

  SSD_HOST_DEVICE void operator()(uint32_t item) const {
    const int64_t from = map.Shortcut(item);
    if (!kRelu && from < 0) return;
    Lanes<T, kWidth> gradient = LoadLanes<kWidth>(static_cast<const T*>(dy) + map.Output(item));
    if constexpr (kRelu) {
      const Lanes<T, kWidth> outputs = LoadLanes<kWidth>(y + map.Output(item));
      for (int lane = 0; lane < kWidth; ++lane) {
        if (ToFloat(outputs[lane]) <= 0) gradient[lane] = FromFloat<T>(0.0f);
      }
      StoreLanes<kWidth>(gradient, dy + map.Output(item));
    }
    if (from < 0) return;
    Lanes<T, kWidth> sum = LoadLanes<kWidth>(static_cast<const T*>(ds) + from);
    for (int lane = 0; lane < kWidth; ++lane) {
      sum[lane] = FromFloat<T>(ToFloat(sum[lane]) + ToFloat(gradient[lane]));
    }
    StoreLanes<kWidth>(sum, ds + from);
  }
};

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_FUNCTORS_SHORTCUT_H_
