#include "worker/data/augment.h"

#include "worker/data/random.h"

namespace ssd {

Augmentation DrawAugmentation(uint64_t seed, int64_t position) {
  Random random(seed, Random::kAugmentation, static_cast<uint64_t>(position));
  Augmentation draw;
  draw.shift_y = static_cast<int>(random.Below(2 * kCropPadding + 1)) - kCropPadding;
  draw.shift_x = static_cast<int>(random.Below(2 * kCropPadding + 1)) - kCropPadding;
  draw.mirror = random.Below(2) == 1;
  return draw;
}

}  // namespace ssd
