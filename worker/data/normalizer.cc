#include "worker/data/normalizer.h"

#include "common/logging.h"

namespace ssd {

Normalizer::Normalizer(const ImageSet& set) : shape_(set.shape) {
  CHECK(shape_.channels >= 1 && shape_.channels <= 3) << "channels=" << shape_.channels;
  for (int channel = 0; channel < 3; ++channel) {
    for (int pixel = 0; pixel < 256; ++pixel) {
      value_[channel][pixel] =
          static_cast<float>((pixel / 255.0 - set.mean[channel]) / static_cast<double>(set.std[channel]));
    }
  }
}

void Normalizer::Write(std::span<const uint8_t> image, const Augmentation& augmentation,
                       std::span<float> out) const {
  const int64_t channels = shape_.channels;
  CHECK_EQ(static_cast<int64_t>(image.size()), shape_.size());
  CHECK_EQ(static_cast<int64_t>(out.size()), shape_.size());
  float* to = out.data();
  for (int64_t y = 0; y < shape_.height; ++y) {
    const int64_t from_y = y + augmentation.shift_y;
    const bool row_inside = from_y >= 0 && from_y < shape_.height;
    for (int64_t x = 0; x < shape_.width; ++x) {
      const int64_t from_x = (augmentation.mirror ? shape_.width - 1 - x : x) + augmentation.shift_x;
      const bool inside = row_inside && from_x >= 0 && from_x < shape_.width;
      const uint8_t* from = inside ? &image[(from_y * shape_.width + from_x) * channels] : nullptr;
      for (int64_t c = 0; c < channels; ++c) *to++ = value_[c][inside ? from[c] : 0];
    }
  }
}

}  // namespace ssd
