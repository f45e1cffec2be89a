// What a model is fed with.
#ifndef SSD_MODELS_BATCH_H_
#define SSD_MODELS_BATCH_H_

#include <cstdint>
#include <span>

namespace ssd {

// (H, W, C) of one image.
struct ImageShape {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;

  int64_t size() const { return height * width * channels; }
  bool operator==(const ImageShape&) const = default;
};

// An image of a data set that lies in a device's memory, and what is done to it (worker/data/augment.h): how a device is
// told which batch to make.
struct alignas(16) DrawnImage {
  int32_t image = 0;    // which of the data set
  int32_t shift_y = 0;  // row y shows the image's row y + shift_y, black outside
  int32_t shift_x = 0;  // likewise for columns, before mirroring
  bool mirror = false;
};

// A view of N normalised images; whoever made it says how long it lives.
struct Batch {
  std::span<const float> images;    // (N, H, W, C)
  std::span<const int32_t> labels;  // (N)
  int64_t valid = 0;                // the first `valid` of the N count; the rest is padding (evaluation only)
};

}  // namespace ssd

#endif  // SSD_MODELS_BATCH_H_
