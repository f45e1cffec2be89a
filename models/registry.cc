#include "models/registry.h"

#include <algorithm>
#include <array>
#include <exception>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "models/cpu/device.h"
#include "models/resnet.h"
#include "models/sequential.h"

namespace ssd {
namespace {

struct Entry {
  const char* name;
  int depth;
};
constexpr std::array<Entry, 6> kModels = {{
    {"resnet8", 8},
    {"resnet20", 20},
    {"resnet32", 32},
    {"resnet44", 44},
    {"resnet56", 56},
    {"resnet110", 110},
}};

// Far above any image, batch or class count that fits in memory, and low enough for products of them to be
// right.
constexpr int64_t kMaxDimension = 1 << 20;

absl::Status CheckRange(absl::string_view what, int64_t value) {
  if (1 <= value && value <= kMaxDimension) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, ": got ", value, ", wanted 1 to ", kMaxDimension));
}

absl::StatusOr<Network> MakeNetwork(absl::string_view name, const ModelOptions& options) {
  const auto entry =
      std::find_if(kModels.begin(), kModels.end(), [name](const Entry& entry) { return name == entry.name; });
  if (entry == kModels.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown model \"", name, "\", known are ", absl::StrJoin(ModelNames(), ", ")));
  }
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
  return MakeCifarResNet(entry->depth, input, options.classes);
}

}  // namespace

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kModels) names.push_back(entry.name);
  return names;
}

absl::StatusOr<std::unique_ptr<Model>> MakeModel(absl::string_view name, const ModelOptions& options) {
  return MakeModel(name, options, MakeCpuDevice);
}

absl::StatusOr<std::unique_ptr<Model>> MakeModel(absl::string_view name, const ModelOptions& options,
                                                 DeviceFactory make_device) {
  ASSIGN_OR_RETURN(Network network, MakeNetwork(name, options));
  try {
    return std::make_unique<Sequential>(std::move(network), make_device(options.threads));
  } catch (const std::exception&
               error) {  // std::bad_alloc or oneDNN's: both mean that the shapes are too large here
    return absl::ResourceExhaustedError(absl::StrCat(name, " with batch size ", options.batch_size,
                                                     ": cannot be built here: ", error.what()));
  }
}

absl::StatusOr<ModelLayout> LayoutOf(absl::string_view name, const ImageShape& image, int64_t classes) {
  ASSIGN_OR_RETURN(Network network, MakeNetwork(name, {.image = image, .classes = classes}));
  return std::move(network.layout);
}

}  // namespace ssd
