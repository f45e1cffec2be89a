// Text for a terminal, broken between words. A pure function.
#ifndef SSD_COMMON_WRAPPED_TEXT_H_
#define SSD_COMMON_WRAPPED_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace ssd {

constexpr size_t kTextColumns = 100;

// `text` as lines that are each indented by `indent` blanks and end with a line feed; at most kTextColumns
// wide where words allow. Runs of blanks become one.
std::string WrappedText(absl::string_view text, size_t indent);

}  // namespace ssd

#endif  // SSD_COMMON_WRAPPED_TEXT_H_
