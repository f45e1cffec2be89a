// The models that can be trained, from what they are made of or by name.
#ifndef SSD_MODELS_REGISTRY_H_
#define SSD_MODELS_REGISTRY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/resnet_spec.h"
#include "models/batch.h"
#include "models/device.h"
#include "models/model.h"

namespace ssd {

struct ModelOptions {
  ImageShape image;  // of the images in a batch
  int64_t classes = 10;
  int64_t batch_size = 1;  // samples a pass works on, evaluation included
  int threads = 1;         // of the CPU, for the model's passes
};

// Makes a model with its memory and primitives. Its parameters and buffers are 0: see InitializeParameters.
// InvalidArgument: a specification or an option out of range. ResourceExhausted: no memory for this batch
// size.
absl::StatusOr<std::unique_ptr<Model>> MakeModel(const ResNetSpec& spec, const ModelOptions& options);

// The same on a device of the caller's, which is made for that number of threads.
using DeviceFactory = absl::FunctionRef<std::unique_ptr<Device>(int threads)>;
absl::StatusOr<std::unique_ptr<Model>> MakeModel(const ResNetSpec& spec, const ModelOptions& options,
                                                 DeviceFactory make_device);

// What there is to know of a model before it is made.
struct ModelOutline {
  ModelLayout layout;
  int64_t activation_floats = 0;  // the memory of a training pass, for each image of the batch
};

// Of the model that MakeModel would make. Errors as above.
absl::StatusOr<ModelOutline> OutlineOf(const ResNetSpec& spec, const ImageShape& image, int64_t classes);

// The names of the published networks: see ResNetNames.
std::vector<std::string> ModelNames();

// The same for a published network. InvalidArgument: an unknown name, too.
absl::StatusOr<std::unique_ptr<Model>> MakeModel(absl::string_view name, const ModelOptions& options);
absl::StatusOr<ModelLayout> LayoutOf(absl::string_view name, const ImageShape& image, int64_t classes);

}  // namespace ssd

#endif  // SSD_MODELS_REGISTRY_H_
