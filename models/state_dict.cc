#include "models/state_dict.h"

#include "absl/strings/str_cat.h"

namespace ssd {
namespace {

// "layer1.0.bn1" of "layer1.0.bn1.running_mean".
absl::string_view ModuleOf(absl::string_view name) { return name.substr(0, name.rfind('.')); }

}  // namespace

std::vector<std::string> StateDictNames(const ModelLayout& layout) {
  std::vector<std::string> names;
  const std::vector<TensorSpec>& parameters = layout.parameters.tensors();
  for (size_t i = 0; i < parameters.size(); ++i) {
    names.push_back(parameters[i].name);
    const absl::string_view module = ModuleOf(parameters[i].name);
    if (i + 1 < parameters.size() && ModuleOf(parameters[i + 1].name) == module) continue;
    bool has_buffers = false;
    for (const TensorSpec& buffer : layout.buffers.tensors()) {
      if (ModuleOf(buffer.name) != module) continue;
      names.push_back(buffer.name);
      has_buffers = true;
    }
    if (has_buffers) names.push_back(absl::StrCat(module, ".num_batches_tracked"));
  }
  return names;
}

}  // namespace ssd
