#include "common/io/model_file.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/exit_code.h"
#include "common/logging.h"
#include "common/status_macros.h"

namespace ssd {
namespace {

constexpr absl::string_view kMean = ".running_mean";
constexpr absl::string_view kCounter = ".num_batches_tracked";

// "layer1.0.bn1" of "layer1.0.bn1.weight".
absl::string_view ModuleOf(absl::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == absl::string_view::npos ? absl::string_view() : name.substr(0, dot);
}

// Calls move(i, j) for each value of a convolution of `shape` (O, I, H, W): it is value i where it lies (O,
// I, H, W) and value j where it lies (O, H, W, I).
template <typename Move>
void ForEachWeight(const std::vector<int64_t>& shape, Move move) {
  const int64_t inputs = shape[1];
  const int64_t pixels = shape[2] * shape[3];
  for (int64_t o = 0; o < shape[0]; ++o) {
    const int64_t first = o * inputs * pixels;
    for (int64_t i = 0; i < inputs; ++i) {
      for (int64_t p = 0; p < pixels; ++p) move(first + i * pixels + p, first + p * inputs + i);
    }
  }
}

bool IsConvolution(const TensorSpec& tensor) { return tensor.shape.size() == 4; }

// One tensor of a state_dict.
struct Entry {
  enum class Kind { kParameter, kBuffer, kCounter };
  Kind kind;
  const TensorSpec* tensor;  // of the layout; for a counter: its batch norm's running mean

  std::string name() const {
    return kind == Kind::kCounter ? absl::StrCat(ModuleOf(tensor->name), kCounter) : tensor->name;
  }
};

// The state_dict's tensors in its order; they refer to `layout`.
std::vector<Entry> Order(const ModelLayout& layout) {
  std::map<absl::string_view, std::vector<const TensorSpec*>> buffers_of_module;
  for (const TensorSpec& buffer : layout.buffers.tensors()) {
    buffers_of_module[ModuleOf(buffer.name)].push_back(&buffer);
  }
  std::vector<Entry> order;
  const auto add_buffers = [&order](const std::vector<const TensorSpec*>& buffers) {
    for (const TensorSpec* buffer : buffers) order.push_back({Entry::Kind::kBuffer, buffer});
    for (const TensorSpec* buffer : buffers) {
      if (absl::EndsWith(buffer->name, kMean)) order.push_back({Entry::Kind::kCounter, buffer});
    }
  };
  const std::vector<TensorSpec>& parameters = layout.parameters.tensors();
  for (size_t i = 0; i < parameters.size(); ++i) {
    order.push_back({Entry::Kind::kParameter, &parameters[i]});
    const absl::string_view module = ModuleOf(parameters[i].name);
    if (i + 1 < parameters.size() && ModuleOf(parameters[i + 1].name) == module) continue;
    if (const auto found = buffers_of_module.find(module); found != buffers_of_module.end()) {
      add_buffers(found->second);
      buffers_of_module.erase(found);
    }
  }
  // Modules without parameters.
  for (const auto& [module, buffers] : buffers_of_module) add_buffers(buffers);
  return order;
}

// The tensors of a state_dict with their values. Neither the vectors nor the object may move while the
// sources are in use.
class StateDict {
 public:
  StateDict(const ModelLayout& layout, std::span<const float> parameters, std::span<const float> buffers,
            int64_t steps)
      : steps_(steps) {
    for (const Entry& entry : Order(layout)) {
      SafetensorsSource& source = sources_.emplace_back();
      source.name = entry.name();
      if (entry.kind == Entry::Kind::kCounter) {
        source.values = std::span<const int64_t>(&steps_, 1);
      } else {
        Fill(source, *entry.tensor, entry.kind == Entry::Kind::kParameter ? parameters : buffers);
      }
    }
  }
  StateDict(const StateDict&) = delete;
  StateDict& operator=(const StateDict&) = delete;

  std::span<const SafetensorsSource> sources() const { return sources_; }

 private:
  void Fill(SafetensorsSource& source, const TensorSpec& tensor, std::span<const float> vector) {
    source.shape = tensor.shape;
    const std::span<const float> values = vector.subspan(tensor.offset, tensor.size);
    if (!IsConvolution(tensor)) {
      source.values = values;
      return;
    }
    source.values = [this, &tensor, values]() -> std::span<const float> {
      permuted_.resize(values.size());
      ForEachWeight(tensor.shape, [&](int64_t file, int64_t memory) { permuted_[file] = values[memory]; });
      return permuted_;
    };
  }

  const int64_t steps_;
  std::vector<float> permuted_;  // the convolution being written
  std::vector<SafetensorsSource> sources_;
};

void CopyIn(const ParameterLayout& layout, const std::vector<const SafetensorsTensor*>& tensors,
            std::span<float> vector) {
  std::vector<float> permuted;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& spec = layout.tensors()[i];
    const std::span<float> values = vector.subspan(spec.offset, spec.size);
    if (tensors[i] == nullptr) continue;
    if (!IsConvolution(spec)) {
      CHECK_OK(tensors[i]->CopyTo(values));
      continue;
    }
    permuted.resize(values.size());
    CHECK_OK(tensors[i]->CopyTo(std::span<float>(permuted)));
    ForEachWeight(spec.shape, [&](int64_t file, int64_t memory) { values[memory] = permuted[file]; });
  }
}

void CheckSizes(const ModelLayout& layout, std::span<const float> parameters,
                std::span<const float> buffers) {
  CHECK_EQ(static_cast<int64_t>(parameters.size()), layout.parameters.size());
  CHECK_EQ(static_cast<int64_t>(buffers.size()), layout.buffers.size());
}

// All that differs, as an error.
absl::Status NotThisModel(const std::string& path, const MatchReport& report) {
  std::vector<std::string> faults;
  for (const std::string& name : report.missing) faults.push_back(absl::StrCat("missing ", name));
  faults.insert(faults.end(), report.misfits.begin(), report.misfits.end());
  for (const std::string& tensor : report.unexpected) faults.push_back(absl::StrCat("unexpected ", tensor));
  if (report.unlisted > 0) faults.push_back(absl::StrCat(report.unlisted, " more unexpected ones"));
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the tensors are not this model's: ", absl::StrJoin(faults, "; ")));
}

absl::Status Check(const std::string& path, const MatchReport& report, Matching matching) {
  if (matching == Matching::kStrict && !report.exact()) return NotThisModel(path, report);
  if (report.fitting > 0 || report.wanted == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": no tensor fits this model; ",
                                                 absl::StrJoin(report.Differences(/*max_listed=*/5), "; ")));
}

}  // namespace

std::vector<std::string> StateDictNames(const ModelLayout& layout) {
  std::vector<std::string> names;
  for (const Entry& entry : Order(layout)) names.push_back(entry.name());
  return names;
}

absl::Status WriteModel(Disk& disk, const std::string& path, const ModelLayout& layout,
                        std::span<const float> parameters, std::span<const float> buffers, int64_t steps,
                        const SafetensorsMetadata& metadata) {
  CheckSizes(layout, parameters, buffers);
  const StateDict state(layout, parameters, buffers, steps);
  SafetensorsMetadata all = metadata;
  all["format"] = "pt";  // without it, transformers and others refuse the file
  return WriteSafetensors(disk, path, state.sources(), all);
}

absl::StatusOr<MatchReport> CompareModel(Disk& disk, const std::string& path, const ModelLayout& layout,
                                         Matching matching) {
  ASSIGN_OR_RETURN(const Safetensors file, ReadSafetensors(disk, path));
  ModelMatch match = MatchTensors(file, layout);
  RETURN_IF_ERROR(Check(path, match.report, matching));
  return std::move(match.report);
}

absl::StatusOr<MatchReport> ReadModel(Disk& disk, const std::string& path, const ModelLayout& layout,
                                      Matching matching, std::span<float> parameters,
                                      std::span<float> buffers) {
  CheckSizes(layout, parameters, buffers);
  ASSIGN_OR_RETURN(const Safetensors file, ReadSafetensors(disk, path));
  ModelMatch match = MatchTensors(file, layout);
  RETURN_IF_ERROR(Check(path, match.report, matching));
  CopyIn(layout.parameters, match.parameters, parameters);
  CopyIn(layout.buffers, match.buffers, buffers);
  return std::move(match.report);
}

int ModelFileExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitDone;
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kInvalidArgument:
      return kExitIncompatible;
    case absl::StatusCode::kNotFound:
      return kExitUsage;
    default:
      return kExitStorage;
  }
}

}  // namespace ssd
