// Which of a file's tensors are which of a model's.
#ifndef SSD_COMMON_IO_MODEL_MATCH_H_
#define SSD_COMMON_IO_MODEL_MATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/io/safetensors.h"
#include "common/parameter_layout.h"

namespace ssd {

// What fits and what does not, for people. A value type. The lists hold phrases with names in quotes; of a
// hostile file's millions of tensors some thousands are listed.
struct MatchReport {
  int64_t wanted = 0;                   // tensors of the model
  int64_t fitting = 0;                  // of them the file has, in the same shape and type
  std::vector<std::string> missing;     // "fc.bias"
  std::vector<std::string> misfits;     // "fc.bias" is F32 of shape [10], want F32 of shape [5]
  std::vector<std::string> unexpected;  // "fc2.bias", F32 of shape [10]
  int64_t unlisted = 0;                 // unexpected ones that are not in the list

  bool exact() const { return fitting == wanted && misfits.empty() && unexpected.empty(); }

  // "120 of 122 tensors fit; 2 of another shape or type, 0 missing, 0 unexpected"
  std::string Summary() const;
  // A line for each kind of difference, with `max_listed` tensors at most: `missing: "a", "b" and 3 more`.
  // None where the match is exact.
  std::vector<std::string> Differences(size_t max_listed) const;
};

struct ModelMatch {
  // For each tensor of the layout, in its order, the file's; null where none fits. They point into the
  // file's.
  std::vector<const SafetensorsTensor*> parameters;
  std::vector<const SafetensorsTensor*> buffers;
  MatchReport report;
};

// Pairs them by name; shape and type have to be equal, the type F32. A batch norm's "X.num_batches_tracked"
// may be there, as an I64 of shape [] or [1], and counts for nothing.
ModelMatch MatchTensors(const Safetensors& file, const ModelLayout& layout);

}  // namespace ssd

#endif  // SSD_COMMON_IO_MODEL_MATCH_H_
