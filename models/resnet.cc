#include "models/resnet.h"

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "models/basic_block.h"
#include "models/layers.h"

namespace ssd {

Network MakeCifarResNet(int depth, const ActivationShape& input, int64_t classes) {
  CHECK(depth >= 8 && (depth - 2) % 6 == 0) << depth;
  const int blocks_per_stage = (depth - 2) / 6;
  Network network{.input = input};
  ActivationShape shape = input;  // of the last layer's output
  const auto append = [&network, &shape](std::unique_ptr<Layer> layer) {
    shape = layer->output_shape();
    network.layers.push_back(std::move(layer));
  };
  ModelLayout& layout = network.layout;

  append(std::make_unique<ConvolutionLayer>(
      "conv1", ConvolutionShape{.input = shape, .outputs = 16, .kernel = 3, .stride = 1, .padding = 1},
      layout));
  append(std::make_unique<BatchNormLayer>("bn1", shape, /*relu=*/true, layout));
  for (int stage = 1; stage <= 3; ++stage) {
    for (int block = 0; block < blocks_per_stage; ++block) {
      const int64_t stride = stage > 1 && block == 0 ? 2 : 1;
      append(std::make_unique<BasicBlock>(absl::StrCat("layer", stage, ".", block), shape,
                                          /*outputs=*/int64_t{8} << stage, stride, layout));
    }
  }
  append(std::make_unique<GlobalAveragePoolLayer>(shape));
  append(std::make_unique<LinearLayer>("fc", shape, classes, layout));
  return network;
}

}  // namespace ssd
