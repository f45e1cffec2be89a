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
#include "absl/status/statusor.h"
#include "common/io/disk.h"
#include "common/io/model_match.h"
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

enum class Matching {
  kStrict,   // names, shapes and types have to be those of the layout
  kPartial,  // what fits is taken
};

// Reads the model into `parameters` and `buffers`, or fails and leaves them as they were. What does not fit
// keeps its values. "num_batches_tracked" may be missing or have shape [1], and its value is not used.
// InvalidArgument: another model; lists every tensor that is missing, unexpected or of another shape or type.
// With kPartial: no tensor fits. DataLoss: no well-formed safetensors file. Otherwise fails as the disk does.
// REQUIRES: the vectors have the sizes of `layout`.
absl::StatusOr<MatchReport> ReadModel(Disk& disk, const std::string& path, const ModelLayout& layout,
                                      Matching matching, std::span<float> parameters,
                                      std::span<float> buffers);

// The same without a model to read into: what ReadModel would say.
absl::StatusOr<MatchReport> CompareModel(Disk& disk, const std::string& path, const ModelLayout& layout,
                                         Matching matching);

// The exit code of a process that needs a model file and got this from ReadModel or CompareModel: 5 for the
// content, 2 where there is no such file, else 6.
int ModelFileExitCode(const absl::Status& status);

}  // namespace ssd

#endif  // SSD_COMMON_IO_MODEL_FILE_H_
