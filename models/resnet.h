// The residual networks of He et al. 2015 for small images (their section 4.2): depth 6n + 2, three stages of
// n basic blocks with 16, 32 and 64 channels, shortcut A. Tensors are named as in torchvision:
// "conv1.weight", "bn1.weight", ..., "layer1.0.conv1.weight", ..., "fc.weight", "fc.bias".
#ifndef SSD_MODELS_RESNET_H_
#define SSD_MODELS_RESNET_H_

#include <cstdint>

#include "models/sequential.h"

namespace ssd {

// REQUIRES: depth = 6 n + 2 with n >= 1; no dimension is 0.
Network MakeCifarResNet(int depth, const ActivationShape& input, int64_t classes);

}  // namespace ssd

#endif  // SSD_MODELS_RESNET_H_
