// Max pooling of (N, H, W, C), `width` channels an item: forward remembers which value of its window each output is;
// backward gathers, for each input, the gradients of the outputs that are it, so that nothing is added atomically.
//
// The largest value of a window is the first of equal ones, by rows; a NaN is larger than all, so that it is seen.
#ifndef SSD_MODELS_CUDA_FUNCTORS_MAX_POOL_H_
#define SSD_MODELS_CUDA_FUNCTORS_MAX_POOL_H_

#include <cstdint>

#include "common/host_device.h"
#include "models/cuda/functors/divisor.h"
#include "models/cuda/functors/half.h"
#include "models/cuda/functors/lanes.h"
#include "models/operations.h"

namespace ssd {

// A pixel of all images, and the first channel of a group.
struct GroupPlace {
  int image = 0;
  int row = 0;
  int column = 0;
  int channel = 0;
};

// The groups of `width` channels of an activation, in the order in which they lie.
class ChannelGroups {
 public:
  // REQUIRES: shape.channels is a multiple of `width`, and shape.size() / width < 2^31.
  ChannelGroups(const ActivationShape& shape, int width)
      : items_(shape.size() / width),
        width_(width),
        groups_(shape.channels / width),
        columns_(shape.width),
        rows_(shape.height) {}

  int64_t items() const { return items_; }

  SSD_HOST_DEVICE GroupPlace Place(uint32_t item) const {
    const DivisorResult pixel = groups_.Divide(item);
    const DivisorResult row = columns_.Divide(pixel.quotient);
    const DivisorResult image = rows_.Divide(row.quotient);
    return {.image = static_cast<int>(image.quotient),
            .row = static_cast<int>(image.remainder),
            .column = static_cast<int>(row.remainder),
            .channel = static_cast<int>(pixel.remainder) * width_};
  }

  SSD_HOST_DEVICE int rows() const { return static_cast<int>(rows_.value()); }
  SSD_HOST_DEVICE int columns() const { return static_cast<int>(columns_.value()); }
  SSD_HOST_DEVICE int channels() const { return static_cast<int>(groups_.value()) * width_; }
  // The first value of a group.
  SSD_HOST_DEVICE int64_t Index(int image, int row, int column, int channel) const {
    return ((static_cast<int64_t>(image) * rows() + row) * columns() + column) * channels() + channel;
  }

 private:
  int64_t items_;
  int width_;
  Divisor groups_, columns_, rows_;
};

struct PoolWindow {
  int kernel = 1;  // at most 15, so that a value's place in its window fits in a byte
  int stride = 1;
  int padding = 0;
};

// An item is a group of the output.
template <typename T, int kWidth>
struct MaxPoolForward {
  ChannelGroups input, output;
  PoolWindow window;
  const T* x;
  T* y;
  uint8_t* which;  // of each output: row * kernel + column in its window

  SSD_HOST_DEVICE void operator()(uint32_t item) const {
    const GroupPlace place = output.Place(item);
    const int top = place.row * window.stride - window.padding;
    const int left = place.column * window.stride - window.padding;
    Lanes<T, kWidth> largest = {};
    Lanes<uint8_t, kWidth> winner = {};
    bool is_first = true;
    for (int i = 0; i < window.kernel; ++i) {
      if (top + i < 0 || top + i >= input.rows()) continue;
      for (int j = 0; j < window.kernel; ++j) {
        if (left + j < 0 || left + j >= input.columns()) continue;
        const Lanes<T, kWidth> values =
            LoadLanes<kWidth>(x + input.Index(place.image, top + i, left + j, place.channel));
        for (int lane = 0; lane < kWidth; ++lane) {
          const float value = ToFloat(values[lane]);
          const float so_far = ToFloat(largest[lane]);
          const bool is_new_nan = value != value && so_far == so_far;
          if (is_first || value > so_far || is_new_nan) {
            largest[lane] = values[lane];
            winner[lane] = static_cast<uint8_t>(i * window.kernel + j);
          }
        }
        is_first = false;
      }
    }
    const int64_t to = static_cast<int64_t>(item) * kWidth;
    StoreLanes<kWidth>(largest, y + to);
    StoreLanes<kWidth>(winner, which + to);
  }
};

// An item is a group of the input. Sums in float, by rows of the output.
template <typename T, int kWidth>
struct MaxPoolBackward {
  ChannelGroups input, output;
  PoolWindow window;
  const T* dy;
  const uint8_t* which;
  T* dx;

  SSD_HOST_DEVICE void operator()(uint32_t item) const {
    const GroupPlace place = input.Place(item);
    const int row = place.row + window.padding;
    const int column = place.column + window.padding;
    float sum[kWidth] = {};
    for (int h = FirstWindow(row); h <= row / window.stride && h < output.rows(); ++h) {
      for (int w = FirstWindow(column); w <= column / window.stride && w < output.columns(); ++w) {
        const int64_t from = output.Index(place.image, h, w, place.channel);
        const int mine = (row - h * window.stride) * window.kernel + column - w * window.stride;
        const Lanes<uint8_t, kWidth> winner = LoadLanes<kWidth>(which + from);
        const Lanes<T, kWidth> gradient = LoadLanes<kWidth>(dy + from);
        for (int lane = 0; lane < kWidth; ++lane) {
          if (winner[lane] == mine) sum[lane] += ToFloat(gradient[lane]);
        }
      }
    }
    Lanes<T, kWidth> result;
    for (int lane = 0; lane < kWidth; ++lane) result[lane] = FromFloat<T>(sum[lane]);
    StoreLanes<kWidth>(result, dx + static_cast<int64_t>(item) * kWidth);
  }

 private:
  // The first window that reaches a padded row or column.
  SSD_HOST_DEVICE int FirstWindow(int padded) const {
    return padded < window.kernel ? 0 : (padded - window.kernel) / window.stride + 1;
  }
};

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_FUNCTORS_MAX_POOL_H_
