#include "common/config/error_list.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ssd {
namespace {

constexpr size_t kMaxErrors = 100;

}  // namespace

void ErrorList::Add(const std::string& place, const std::string& message) {
  if (lines_.size() == kMaxErrors) {
    ++left_out_;
    return;
  }
  lines_.push_back(absl::StrCat(place, ": ", message));
}

void ErrorList::AddFor(const std::string& option, const std::string& place, const std::string& message) {
  options_.insert(option);
  Add(place, message);
}

absl::Status ErrorList::ToStatus() const {
  if (lines_.empty()) return absl::OkStatus();
  std::string text = absl::StrJoin(lines_, "\n");
  if (left_out_ != 0) absl::StrAppend(&text, "\n(and ", left_out_, " more errors)");
  return absl::InvalidArgumentError(text);
}

}  // namespace ssd
