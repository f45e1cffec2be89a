#include "models/resnet.h"

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "models/layers.h"
#include "models/residual_block.h"

namespace ssd {
namespace {

// Appends layers to a network.
class Builder {
 public:
  explicit Builder(const ActivationShape& input) : network_({.input = input}), shape_(input) {}

  void Append(std::unique_ptr<Layer> layer) {
    shape_ = layer->output_shape();
    network_.layers.push_back(std::move(layer));
  }
  template <typename L, typename... Arguments>
  void Append(Arguments&&... arguments) {
    Append(std::make_unique<L>(std::forward<Arguments>(arguments)...));
  }

  const ActivationShape& shape() const { return shape_; }  // of the last layer's output
  ModelLayout& layout() { return network_.layout; }
  Network Take() { return std::move(network_); }

 private:
  Network network_;
  ActivationShape shape_;
};

void AppendStem(const ResNetSpec& spec, Builder& network) {
  const bool is_small = spec.stem == ResNetSpec::Stem::kCifar;
  const ConvolutionShape convolution{.input = network.shape(),
                                     .outputs = spec.width,
                                     .kernel = is_small ? 3 : 7,
                                     .stride = is_small ? 1 : 2,
                                     .padding = is_small ? 1 : 3};
  network.Append<ConvolutionLayer>("conv1", convolution, network.layout());
  network.Append<BatchNormLayer>("bn1", network.shape(), /*relu=*/true, network.layout());
  if (!is_small) {
    network.Append<MaxPoolLayer>(PoolShape{.input = network.shape(), .kernel = 3, .stride = 2, .padding = 1});
  }
}

}  // namespace

Network MakeResNet(const ResNetSpec& spec, const ActivationShape& input, int64_t classes) {
  CHECK(!spec.layers.empty());
  const auto make_block = spec.block == ResNetSpec::Block::kBasic ? MakeBasicBlock : MakeBottleneckBlock;
  Builder network(input);
  AppendStem(spec, network);
  for (size_t stage = 0; stage < spec.layers.size(); ++stage) {
    for (int64_t block = 0; block < spec.layers[stage]; ++block) {
      const std::string name = absl::StrCat("layer", stage + 1, ".", block);
      network.Append(make_block(name, network.shape(), spec.inner_channels(stage),
                                /*stride=*/stage > 0 && block == 0 ? 2 : 1, spec.shortcut, network.layout()));
    }
  }
  network.Append<GlobalAveragePoolLayer>(network.shape());
  network.Append<LinearLayer>("fc", network.shape(), classes, network.layout());
  return network.Take();
}

}  // namespace ssd
