#include "server/hello.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/wire/frame.h"
#include "server/bounded_text.h"

namespace ssd {
namespace {

constexpr int kMaxTensors = 10'000;
constexpr int kMaxDimensions = 16;

// The shape of one vector; InvalidArgument where a peer's numbers cannot be one.
absl::StatusOr<ParameterLayout> ReadLayout(
    const google::protobuf::RepeatedPtrField<v1::Hello::Tensor>& tensors) {
  constexpr int64_t kMaxFloats = int64_t{1} << 40;
  ParameterLayout layout;
  for (const v1::Hello::Tensor& tensor : tensors) {
    if (tensor.shape_size() > kMaxDimensions) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", BoundedText(tensor.name()), " has ", tensor.shape_size(), " dimensions"));
    }
    std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
    int64_t size = 1;
    for (int64_t dimension : shape) {
      if (dimension < 1 || dimension > kMaxFloats / size) {
        return absl::InvalidArgumentError(
            absl::StrCat("tensor ", BoundedText(tensor.name()), " has no sane shape"));
      }
      size *= dimension;
    }
    if (layout.size() + size > kMaxFloats)
      return absl::InvalidArgumentError("a model of more than 2^40 floats");
    layout.Add(tensor.name(), std::move(shape));
  }
  return layout;
}

absl::Status CheckNames(const v1::Hello& hello) {
  for (const auto* tensors : {&hello.parameters(), &hello.buffers()}) {
    if (tensors->size() > kMaxTensors) {
      return absl::InvalidArgumentError(
          absl::StrCat(tensors->size(), " tensors, at most ", kMaxTensors, " are allowed"));
    }
    std::vector<absl::string_view> names;
    for (const v1::Hello::Tensor& tensor : *tensors) names.emplace_back(tensor.name());
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end())
      return absl::InvalidArgumentError(absl::StrCat("two tensors named ", BoundedText(*twice)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckAgreement(const v1::Hello& hello, ShardId shard, int num_workers,
                            std::span<const std::pair<std::string, std::string>> fields) {
  const auto who = absl::StrCat("worker ", hello.worker());
  if (hello.protocol() != kProtocol) {
    return absl::FailedPreconditionError(absl::StrCat("protocol: ", who, " speaks version ", hello.protocol(),
                                                      ", shard ", shard.value(), " version ", kProtocol));
  }
  if (hello.worker() >= static_cast<uint32_t>(num_workers)) {
    return absl::FailedPreconditionError(absl::StrCat("cluster.workers: there is no ", who,
                                                      ", the configuration has ", num_workers, " workers"));
  }
  if (hello.shard() != shard.value()) {
    return absl::FailedPreconditionError(absl::StrCat("cluster.addresses: ", who, " expects shard ",
                                                      hello.shard(), " at the address of shard ",
                                                      shard.value()));
  }
  const int num_fields = static_cast<int>(fields.size());
  for (int i = 0; i < num_fields; ++i) {
    const auto& [name, value] = fields[i];
    const bool there = i < hello.fields_size() && hello.fields(i).name() == name;
    if (!there)
      return absl::FailedPreconditionError(absl::StrCat(name, ": ", who, " does not know this option"));
    if (hello.fields(i).value() != value) {
      return absl::FailedPreconditionError(absl::StrCat(name, ": ", who, " has ",
                                                        BoundedText(hello.fields(i).value()), ", shard ",
                                                        shard.value(), " has ", value));
    }
  }
  if (hello.fields_size() > num_fields) {
    return absl::FailedPreconditionError(absl::StrCat(BoundedText(hello.fields(num_fields).name()),
                                                      ": shard ", shard.value(),
                                                      " does not know this option of ", who));
  }
  return absl::OkStatus();
}

absl::StatusOr<ModelLayout> ReadModelLayout(const v1::Hello& hello) {
  RETURN_IF_ERROR(CheckNames(hello));
  ModelLayout layout;
  ASSIGN_OR_RETURN(layout.parameters, ReadLayout(hello.parameters()));
  ASSIGN_OR_RETURN(layout.buffers, ReadLayout(hello.buffers()));
  if (layout.parameters.size() == 0) return absl::InvalidArgumentError("a model without parameters");
  return layout;
}

}  // namespace ssd
