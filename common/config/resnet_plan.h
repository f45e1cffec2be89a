// The network that an experiment names.
#ifndef SSD_COMMON_CONFIG_RESNET_PLAN_H_
#define SSD_COMMON_CONFIG_RESNET_PLAN_H_

#include "common/resnet_spec.h"
#include "ssd/v1/experiment.pb.h"

namespace ssd {

// Of a published network by its name, of a custom one by the other options. A pure function. REQUIRES: a
// loaded model. (One that is not valid yet gives a specification that is not.)
ResNetSpec MakeResNetSpec(const v1::Model& model);

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_RESNET_PLAN_H_
