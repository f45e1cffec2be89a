// Residual networks as layers. Tensors are named as in torchvision: "conv1.weight", "bn1.weight", ...,
// "layer1.0.conv1.weight", ..., "fc.weight", "fc.bias".
#ifndef SSD_MODELS_RESNET_H_
#define SSD_MODELS_RESNET_H_

#include <cstdint>

#include "common/resnet_spec.h"
#include "models/sequential.h"

namespace ssd {

// REQUIRES: at least one stage; no dimension and no number of blocks is 0.
Network MakeResNet(const ResNetSpec& spec, const ActivationShape& input, int64_t classes);

}  // namespace ssd

#endif  // SSD_MODELS_RESNET_H_
