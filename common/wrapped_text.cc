#include "common/wrapped_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ssd {

std::string WrappedText(absl::string_view text, size_t indent) {
  std::string wrapped;
  size_t column = 0;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (column != 0 && column + 1 + word.size() > kTextColumns) {
      absl::StrAppend(&wrapped, "\n");
      column = 0;
    }
    absl::StrAppend(&wrapped, column == 0 ? std::string(indent, ' ') : " ", word);
    column += (column == 0 ? indent : 1) + word.size();
  }
  absl::StrAppend(&wrapped, "\n");
  return wrapped;
}

}  // namespace ssd
