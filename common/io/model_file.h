// A model in a safetensors file that PyTorch loads with load_state_dict(strict=True), and the reverse.
//
// The tensors have torchvision's names, in the order of a state_dict: each module's parameters, then its
// buffers. Convolutions are (O, I, H, W) in the file and (O, H, W, I) in memory. A batch norm, which is what
// has a "X.running_mean", has an "X.num_batches_tracked" in the file, an int64 that is the number of training
// steps.
//
// Thread-safe.
#ifndef SSD_COMMON_IO_MODEL_FILE_H_
#define SSD_COMMON_IO_MODEL_FILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/io/disk.h"
#include "common/io/safetensors.h"
#include "common/parameter_layout.h"

namespace ssd {

// The names of the file's tensors, in its order.
std::vector<std::string> StateDictNames(const ModelLayout& layout);

// Writes the model aside and renames, so that `path` is the old model or all of the new one. The metadata is
// `metadata` and {"format": "pt"}. Fails as the disk does; InvalidArgument: a name that a file cannot hold.
// REQUIRES: the vectors have the sizes of `layout`.
absl::Status WriteModel(Disk& disk, const std::string& path, const ModelLayout& layout,
                        std::span<const float> parameters, std::span<const float> buffers, int64_t steps,
                        const SafetensorsMetadata& metadata = {});

// Reads the model into `parameters` and `buffers`, or fails and leaves them as they were. Names, shapes and
// types have to be those of `layout`; only "num_batches_tracked" may be missing or have shape [1], and its
// value is not used. InvalidArgument: another model; lists every tensor that is missing, unexpected or of
// another shape or type. DataLoss: no well-formed safetensors file. Otherwise fails as the disk does.
// REQUIRES: the vectors have the sizes of `layout`.
absl::Status ReadModel(Disk& disk, const std::string& path, const ModelLayout& layout,
                       std::span<float> parameters, std::span<float> buffers);

}  // namespace ssd

#endif  // SSD_COMMON_IO_MODEL_FILE_H_
