// From the bytes of a data set on the device to a batch of normalised images, shifted and mirrored on the way:
// worker/data/normalizer.h for a GPU. What happens to each image is drawn on the host, by the same function of seed and
// position; the value of each byte is looked up in the table that the host made, so that both make the same floats.
#ifndef SSD_MODELS_CUDA_FUNCTORS_IMAGE_NORMALIZATION_H_
#define SSD_MODELS_CUDA_FUNCTORS_IMAGE_NORMALIZATION_H_

#include <cstdint>

#include "common/host_device.h"
#include "models/batch.h"
#include "models/cuda/functors/divisor.h"
#include "models/cuda/functors/half.h"
#include "models/cuda/functors/lanes.h"

namespace ssd {

inline constexpr int kByteValues = 256;

// An item is kWidth values of the batch, which need not be of one pixel or image; behind the last image there are none.
template <typename T, int kWidth>
struct ImageNormalization {
  ImageShape shape;
  Divisor channels, columns, rows;  // of shape
  int64_t size;                     // N * H * W * C < 2^31
  const uint8_t* pixels;            // (images of the data set, H, W, C)
  const DrawnImage* draws;          // (N)
  const float* values;              // (C, 256)
  T* images;                        // (N, H, W, C)

  ImageNormalization(const ImageShape& image, int64_t batch, const uint8_t* pixels_of_set,
                     const DrawnImage* drawn, const float* values_of_bytes, T* to)
      : shape(image),
        channels(image.channels),
        columns(image.width),
        rows(image.height),
        size(batch * image.size()),
        pixels(pixels_of_set),
        draws(drawn),
        values(values_of_bytes),
        images(to) {}

  int64_t items() const { return (size + kWidth - 1) / kWidth; }

  SSD_HOST_DEVICE void operator()(uint32_t item) const {
    const int64_t first = static_cast<int64_t>(item) * kWidth;
    if (first + kWidth <= size) return StoreLanes<kWidth>(Values<kWidth>(first), images + first);
    for (int64_t i = first; i < size; ++i) StoreLanes<1>(Values<1>(i), images + i);
  }

 private:
  template <int kCount>
  SSD_HOST_DEVICE Lanes<T, kCount> Values(int64_t first) const {
    const DivisorResult pixel = channels.Divide(static_cast<uint32_t>(first));
    uint32_t number = pixel.quotient;  // of all pixels of the batch
    auto channel = static_cast<int>(pixel.remainder);
    const uint8_t* from = Source(number);
    Lanes<T, kCount> lanes = {};
    for (int lane = 0; lane < kCount; ++lane) {
      const int byte = from == nullptr ? 0 : from[channel];
      lanes[lane] = FromFloat<T>(values[channel * kByteValues + byte]);
      if (lane + 1 < kCount && ++channel == shape.channels) {
        channel = 0;
        from = Source(++number);
      }
    }
    return lanes;
  }

  // The pixel of the data set that is shown at a pixel of the batch; none where that is outside of the image, and black.
  SSD_HOST_DEVICE const uint8_t* Source(uint32_t number) const {
    const DivisorResult row = columns.Divide(number);
    const DivisorResult image = rows.Divide(row.quotient);
    const DrawnImage draw = draws[image.quotient];
    const int64_t y = static_cast<int64_t>(image.remainder) + draw.shift_y;
    const auto column = static_cast<int64_t>(row.remainder);
    const int64_t x = (draw.mirror ? shape.width - 1 - column : column) + draw.shift_x;
    if (y < 0 || y >= shape.height || x < 0 || x >= shape.width) return nullptr;
    return pixels + ((draw.image * shape.height + y) * shape.width + x) * shape.channels;
  }
};

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_FUNCTORS_IMAGE_NORMALIZATION_H_
