// What a residual network is made of, apart from its images and classes.
#ifndef SSD_COMMON_RESNET_SPEC_H_
#define SSD_COMMON_RESNET_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ssd {

// A stem, then stages of blocks, then an average over the image and a linear layer (He et al. 2015). Stage s,
// from 0, has width * 2^s channels, in bottleneck blocks four times as many at their ends; each stage but the
// first begins by halving height and width. A value type.
struct ResNetSpec {
  enum class Block {
    kBasic,       // 3x3, 3x3
    kBottleneck,  // 1x1, 3x3, 1x1
  };
  enum class Stem {
    kCifar,     // 3x3
    kImageNet,  // 7x7 with stride 2, then the largest of 3x3 with stride 2
  };
  // Around a block whose output has another shape than its input. The others' is the identity.
  enum class Shortcut {
    kPadded,     // A of He et al. 2015: every stride-th pixel, channels of zeros
    kProjected,  // B: a 1x1 convolution and its batch norm
  };

  static constexpr int64_t kExpansion = 4;  // of a bottleneck's last convolution
  // What is larger is refused, not built.
  static constexpr int64_t kMaxStages = 8;
  static constexpr int64_t kMaxBlocks = 1000;  // of all stages together
  static constexpr int64_t kMaxWidth = 4096;

  Block block = Block::kBasic;
  std::vector<int64_t> layers = {};  // the number of blocks of each stage, each at least 1
  int64_t width = 64;                // channels of the stem and the first stage
  Stem stem = Stem::kImageNet;
  Shortcut shortcut = Shortcut::kProjected;

  // Channels inside the blocks of a stage, and at their ends.
  int64_t inner_channels(size_t stage) const { return width << stage; }
  int64_t channels(size_t stage) const {
    return inner_channels(stage) * (block == Block::kBottleneck ? kExpansion : 1);
  }

  bool operator==(const ResNetSpec&) const = default;
};

// The names of the published networks: for CIFAR those of He et al. 2015, "resnet8" to "resnet110"; for
// ImageNet torchvision's, "resnet18" to "resnet152", with the stride on the 3x3 (v1.5).
std::vector<std::string> ResNetNames();

// InvalidArgument: a number that is 0, negative or beyond the limits above; names it.
absl::Status CheckResNet(const ResNetSpec& spec);

// Nothing where there is no network of this name.
std::optional<ResNetSpec> FindResNet(absl::string_view name);

// The number of floats that are trained: convolutions, batch norms' scales and shifts, and the linear layer.
// REQUIRES: CheckResNet.
int64_t CountParameters(const ResNetSpec& spec, int64_t image_channels, int64_t classes);

}  // namespace ssd

#endif  // SSD_COMMON_RESNET_SPEC_H_
