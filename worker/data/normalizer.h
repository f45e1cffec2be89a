// Turns an image's bytes into the floats a model is fed with, shifted and mirrored on the way, in one pass.
//
// Immutable, so any number of threads may use one.
#ifndef SSD_WORKER_DATA_NORMALIZER_H_
#define SSD_WORKER_DATA_NORMALIZER_H_

#include <array>
#include <cstdint>
#include <span>

#include "worker/data/augment.h"
#include "worker/data/image_set.h"

namespace ssd {

class Normalizer {
 public:
  // Takes shape, mean and std of `set`, and does not keep it. REQUIRES: 1 to 3 channels.
  explicit Normalizer(const ImageSet& set);

  const ImageShape& shape() const { return shape_; }

  // (3, 256): the float that stands for each byte, by channel.
  std::span<const float> values() const { return {value_[0].data(), value_.size() * value_[0].size()}; }

  // Writes (pixel / 255 - mean) / std of the augmented image. REQUIRES: both spans have shape().size()
  // elements.
  void Write(std::span<const uint8_t> image, const Augmentation& augmentation, std::span<float> out) const;

 private:
  ImageShape shape_;
  std::array<std::array<float, 256>, 3> value_;  // by channel and pixel
};

}  // namespace ssd

#endif  // SSD_WORKER_DATA_NORMALIZER_H_
