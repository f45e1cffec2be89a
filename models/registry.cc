#include "models/registry.h"

#include <algorithm>
#include <exception>
#include <new>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "models/cpu/device.h"
#include "models/resnet.h"
#include "models/sequential.h"

namespace ssd {
namespace {

// Far above any image, batch or class count that fits in memory, and low enough for products of them to be
// right.
constexpr int64_t kMaxDimension = 1 << 20;

absl::Status CheckRange(absl::string_view what, int64_t value) {
  if (1 <= value && value <= kMaxDimension) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, ": got ", value, ", wanted 1 to ", kMaxDimension));
}

absl::StatusOr<Network> MakeNetwork(const ResNetSpec& spec, const ModelOptions& options) {
  RETURN_IF_ERROR(CheckResNet(spec));
  RETURN_IF_ERROR(CheckRange("image height", options.image.height));
  RETURN_IF_ERROR(CheckRange("image width", options.image.width));
  RETURN_IF_ERROR(CheckRange("image channels", options.image.channels));
  RETURN_IF_ERROR(CheckRange("classes", options.classes));
  RETURN_IF_ERROR(CheckRange("batch size", options.batch_size));
  RETURN_IF_ERROR(CheckRange("threads", options.threads));
  const ActivationShape input{.batch = options.batch_size,
                              .height = options.image.height,
                              .width = options.image.width,
                              .channels = options.image.channels};
  return MakeResNet(spec, input, options.classes);
}

absl::StatusOr<ResNetSpec> Named(absl::string_view name) {
  if (std::optional<ResNetSpec> spec = FindResNet(name); spec.has_value()) return *std::move(spec);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown model \"", name, "\", known are ", absl::StrJoin(ModelNames(), ", ")));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> MakeModel(const ResNetSpec& spec, const ModelOptions& options) {
  return MakeModel(spec, options, MakeCpuDevice);
}

absl::StatusOr<std::unique_ptr<Model>> MakeModel(const ResNetSpec& spec, const ModelOptions& options,
                                                 DeviceFactory make_device) {
  ASSIGN_OR_RETURN(Network network, MakeNetwork(spec, options));
  try {
    return std::make_unique<Sequential>(std::move(network), make_device(options.threads));
  } catch (const std::exception&
               error) {  // std::bad_alloc or oneDNN's: both mean that the shapes are too large here
    return absl::ResourceExhaustedError(absl::StrCat("the model with batch size ", options.batch_size,
                                                     ": cannot be built here: ", error.what()));
  }
}

absl::StatusOr<ModelOutline> OutlineOf(const ResNetSpec& spec, const ImageShape& image, int64_t classes) {
  ASSIGN_OR_RETURN(Network network, MakeNetwork(spec, {.image = image, .classes = classes}));
  const int64_t floats = network.activation_floats();
  return ModelOutline{.layout = std::move(network.layout), .activation_floats = floats};
}

std::vector<std::string> ModelNames() { return ResNetNames(); }

absl::StatusOr<std::unique_ptr<Model>> MakeModel(absl::string_view name, const ModelOptions& options) {
  ASSIGN_OR_RETURN(const ResNetSpec spec, Named(name));
  return MakeModel(spec, options);
}

absl::StatusOr<ModelLayout> LayoutOf(absl::string_view name, const ImageShape& image, int64_t classes) {
  ASSIGN_OR_RETURN(const ResNetSpec spec, Named(name));
  ASSIGN_OR_RETURN(ModelOutline outline, OutlineOf(spec, image, classes));
  return std::move(outline.layout);
}

}  // namespace ssd
