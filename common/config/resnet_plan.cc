#include "common/config/resnet_plan.h"

#include <optional>

#include "common/logging.h"

namespace ssd {

ResNetSpec MakeResNetSpec(const v1::Model& model) {
  if (model.name() != v1::Model::custom) {
    const std::optional<ResNetSpec> published = FindResNet(v1::Model::Name_Name(model.name()));
    CHECK(published.has_value()) << v1::Model::Name_Name(model.name());
    return *published;
  }
  return {
      .block = model.block() == v1::Model::basic ? ResNetSpec::Block::kBasic : ResNetSpec::Block::kBottleneck,
      .layers = {model.layers().begin(), model.layers().end()},
      .width = model.width(),
      .stem = model.stem() == v1::Model::cifar ? ResNetSpec::Stem::kCifar : ResNetSpec::Stem::kImageNet,
      .shortcut = ResNetSpec::Shortcut::kProjected};
}

}  // namespace ssd
