#include "common/resnet_spec.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ssd {
namespace {

using BlockKind = ResNetSpec::Block;

// 6n + 2 layers: the stem, three stages of n blocks of two convolutions, the linear layer.
ResNetSpec Cifar(int64_t n) {
  return {.block = BlockKind::kBasic,
          .layers = {n, n, n},
          .width = 16,
          .stem = ResNetSpec::Stem::kCifar,
          .shortcut = ResNetSpec::Shortcut::kPadded};
}

ResNetSpec ImageNet(BlockKind block, std::vector<int64_t> layers) {
  return {.block = block, .layers = std::move(layers)};
}

const std::vector<std::pair<std::string, ResNetSpec>>& Published() {
  static const auto& published = *new std::vector<std::pair<std::string, ResNetSpec>>{
      {"resnet8", Cifar(1)},
      {"resnet20", Cifar(3)},
      {"resnet32", Cifar(5)},
      {"resnet44", Cifar(7)},
      {"resnet56", Cifar(9)},
      {"resnet110", Cifar(18)},
      {"resnet18", ImageNet(BlockKind::kBasic, {2, 2, 2, 2})},
      {"resnet34", ImageNet(BlockKind::kBasic, {3, 4, 6, 3})},
      {"resnet50", ImageNet(BlockKind::kBottleneck, {3, 4, 6, 3})},
      {"resnet101", ImageNet(BlockKind::kBottleneck, {3, 4, 23, 3})},
      {"resnet152", ImageNet(BlockKind::kBottleneck, {3, 8, 36, 3})},
  };
  return published;
}

absl::Status CheckRange(absl::string_view what, int64_t value, int64_t max) {
  if (1 <= value && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, ": got ", value, ", want 1 to ", max));
}

}  // namespace

absl::Status CheckResNet(const ResNetSpec& spec) {
  RETURN_IF_ERROR(CheckRange("width", spec.width, ResNetSpec::kMaxWidth));
  RETURN_IF_ERROR(CheckRange("stages", static_cast<int64_t>(spec.layers.size()), ResNetSpec::kMaxStages));
  int64_t blocks = 0;
  for (const int64_t layers : spec.layers) {
    RETURN_IF_ERROR(CheckRange("blocks of a stage", layers, ResNetSpec::kMaxBlocks));
    blocks += layers;
  }
  return CheckRange("blocks", blocks, ResNetSpec::kMaxBlocks);
}

std::vector<std::string> ResNetNames() {
  std::vector<std::string> names;
  for (const auto& [name, spec] : Published()) names.push_back(name);
  return names;
}

std::optional<ResNetSpec> FindResNet(absl::string_view name) {
  for (const auto& [known, spec] : Published()) {
    if (name == known) return spec;
  }
  return std::nullopt;
}

int64_t CountParameters(const ResNetSpec& spec, int64_t image_channels, int64_t classes) {
  // A convolution without bias, and its batch norm.
  const auto convolution = [](int64_t kernel, int64_t inputs, int64_t outputs) {
    return kernel * kernel * inputs * outputs + 2 * outputs;
  };
  int64_t count = convolution(spec.stem == ResNetSpec::Stem::kCifar ? 3 : 7, image_channels, spec.width);
  int64_t inputs = spec.width;
  for (size_t stage = 0; stage < spec.layers.size(); ++stage) {
    const int64_t inner = spec.inner_channels(stage);
    const int64_t outputs = spec.channels(stage);
    const bool reshapes = stage > 0 || inputs != outputs;
    if (reshapes && spec.shortcut == ResNetSpec::Shortcut::kProjected)
      count += convolution(1, inputs, outputs);
    for (int64_t block = 0; block < spec.layers[stage]; ++block) {
      if (spec.block == BlockKind::kBasic) {
        count += convolution(3, inputs, outputs) + convolution(3, outputs, outputs);
      } else {
        count +=
            convolution(1, inputs, inner) + convolution(3, inner, inner) + convolution(1, inner, outputs);
      }
      inputs = outputs;
    }
  }
  return count + inputs * classes + classes;
}

}  // namespace ssd
