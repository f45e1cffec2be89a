// Images in memory, as every data set is once it is read or generated.
#ifndef SSD_WORKER_DATA_IMAGE_SET_H_
#define SSD_WORKER_DATA_IMAGE_SET_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/batch.h"

namespace ssd {

struct ImageSet {
  ImageShape shape;
  std::vector<uint8_t> pixels;  // (N, H, W, C), 0..255
  std::vector<int32_t> labels;  // (N), each in [0, class_names.size())
  std::vector<std::string> class_names;
  // Normalisation by channel, in units of 1: (pixel / 255 - mean) / std.
  std::array<float, 3> mean = {0, 0, 0};
  std::array<float, 3> std = {1, 1, 1};

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
  std::span<const uint8_t> image(int64_t index) const {
    return std::span<const uint8_t>(pixels).subspan(index * shape.size(), shape.size());
  }
};

// A training set and a test set of one kind.
struct ImageData {
  ImageSet train;
  ImageSet test;
};

}  // namespace ssd

#endif  // SSD_WORKER_DATA_IMAGE_SET_H_
