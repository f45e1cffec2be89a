#include "common/io/model_match.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/io/safetensors_header.h"

namespace ssd {
namespace {

constexpr size_t kMaxListed = 2000;  // of the unexpected tensors; resnet152 has 932 in all

// Takes the file's tensors one by one; what is left over was not expected.
class Matcher {
 public:
  Matcher(const Safetensors& file, MatchReport* report) : report_(report) {
    for (const SafetensorsTensor& tensor : file.tensors) unclaimed_[tensor.name] = &tensor;
  }

  std::vector<const SafetensorsTensor*> Match(const ParameterLayout& layout) {
    std::vector<const SafetensorsTensor*> matches;
    for (const TensorSpec& want : layout.tensors()) {
      const SafetensorsTensor* tensor = Claim(want.name);
      if (tensor == nullptr) {
        report_->missing.push_back(QuoteUntrusted(want.name));
      } else if (tensor->type != SafetensorsType::kF32 || tensor->shape != want.shape) {
        AddMisfit(*tensor, DescribeTensor(SafetensorsType::kF32, want.shape));
        tensor = nullptr;
      }
      ++report_->wanted;
      if (tensor != nullptr) ++report_->fitting;
      matches.push_back(tensor);
    }
    return matches;
  }

  // Takes the counters of `buffers`' batch norms, which need not be there.
  void MatchCounters(const ParameterLayout& buffers) {
    for (const TensorSpec& buffer : buffers.tensors()) {
      absl::string_view module = buffer.name;
      if (!absl::ConsumeSuffix(&module, ".running_mean")) continue;
      const SafetensorsTensor* const tensor = Claim(absl::StrCat(module, ".num_batches_tracked"));
      if (tensor == nullptr) continue;
      const bool scalar = tensor->shape.empty() || tensor->shape == std::vector<int64_t>{1};
      if (tensor->type != SafetensorsType::kI64 || !scalar)
        AddMisfit(*tensor, DescribeTensor(SafetensorsType::kI64, {}));
    }
  }

  // To be called last.
  void ListRest() {
    for (const auto& [name, tensor] : unclaimed_) {
      if (report_->unexpected.size() == kMaxListed) break;
      report_->unexpected.push_back(
          absl::StrCat(QuoteUntrusted(name), ", ", DescribeTensor(tensor->type, tensor->shape)));
    }
    report_->unlisted = static_cast<int64_t>(unclaimed_.size() - report_->unexpected.size());
  }

 private:
  const SafetensorsTensor* Claim(absl::string_view name) {
    const auto found = unclaimed_.find(name);
    if (found == unclaimed_.end()) return nullptr;
    const SafetensorsTensor* const tensor = found->second;
    unclaimed_.erase(found);
    return tensor;
  }

  void AddMisfit(const SafetensorsTensor& tensor, absl::string_view want) {
    report_->misfits.push_back(absl::StrCat(QuoteUntrusted(tensor.name), " is ",
                                            DescribeTensor(tensor.type, tensor.shape), ", want ", want));
  }

  std::map<absl::string_view, const SafetensorsTensor*> unclaimed_;
  MatchReport* const report_;
};

}  // namespace

std::string MatchReport::Summary() const {
  return absl::StrCat(fitting, " of ", wanted, " tensors fit; ", misfits.size(),
                      " of another shape or type, ", missing.size(), " missing, ",
                      static_cast<int64_t>(unexpected.size()) + unlisted, " unexpected");
}

std::vector<std::string> MatchReport::Differences(size_t max_listed) const {
  std::vector<std::string> lines;
  const auto add = [&](absl::string_view kind, const std::vector<std::string>& phrases,
                       absl::string_view separator, int64_t more) {
    if (phrases.empty()) return;
    const auto listed = static_cast<std::ptrdiff_t>(std::min(phrases.size(), max_listed));
    more += static_cast<int64_t>(phrases.size()) - listed;
    lines.push_back(absl::StrCat(kind, ": ",
                                 absl::StrJoin(phrases.begin(), phrases.begin() + listed, separator),
                                 more > 0 ? absl::StrCat(" and ", more, " more") : ""));
  };
  add("of another shape or type", misfits, "; ", 0);
  add("missing", missing, ", ", 0);
  add("unexpected", unexpected, "; ", unlisted);
  return lines;
}

ModelMatch MatchTensors(const Safetensors& file, const ModelLayout& layout) {
  ModelMatch match;
  Matcher matcher(file, &match.report);
  match.parameters = matcher.Match(layout.parameters);
  match.buffers = matcher.Match(layout.buffers);
  matcher.MatchCounters(layout.buffers);
  matcher.ListRest();
  return match;
}

}  // namespace ssd
