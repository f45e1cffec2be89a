// The random shift and mirroring of training images, as in He et al. 2015 for CIFAR-10: zero-pad by 4 pixels
// on each side, cut out a random window of the image's size, mirror it left to right with p = 0.5.
//
// The padding is black (pixel 0) before normalisation, what torchvision's RandomCrop(32, padding=4) in front
// of ToTensor and Normalize does; it is not 0 after normalisation.
#ifndef SSD_WORKER_DATA_AUGMENT_H_
#define SSD_WORKER_DATA_AUGMENT_H_

#include <cstdint>

namespace ssd {

inline constexpr int kCropPadding = 4;  // pixels on each side

// One image's draw. The default leaves the image as it is.
struct Augmentation {
  int shift_y =
      0;  // output row y shows the image's row y + shift_y, black outside; -kCropPadding..kCropPadding
  int shift_x = 0;  // likewise for columns, before mirroring
  bool mirror = false;

  bool operator==(const Augmentation&) const = default;
};

// The draw for the sample at `position` of the training stream (data_order.h): a pure function of both.
Augmentation DrawAugmentation(uint64_t seed, int64_t position);

}  // namespace ssd

#endif  // SSD_WORKER_DATA_AUGMENT_H_
