// The order of tensors in PyTorch's state_dict.
#ifndef SSD_MODELS_STATE_DICT_H_
#define SSD_MODELS_STATE_DICT_H_

#include <string>
#include <vector>

#include "common/parameter_layout.h"

namespace ssd {

// The names of all tensors, module by module, each module's parameters before its buffers. Batch norm's
// "<module>.num_batches_tracked" is among them: no vector holds it, for it follows from the step.
std::vector<std::string> StateDictNames(const ModelLayout& layout);

}  // namespace ssd

#endif  // SSD_MODELS_STATE_DICT_H_
