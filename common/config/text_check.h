// What has to hold of a text before it is read as YAML or taken as a value. Pure functions.
#ifndef SSD_COMMON_CONFIG_TEXT_CHECK_H_
#define SSD_COMMON_CONFIG_TEXT_CHECK_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace ssd {

// Something in a text that does not belong there.
struct TextFault {
  size_t offset = 0;
  std::string what{};  // "the control character 0x04"
};

// The first byte that is part of no UTF-8 character (RFC 3629), or that is a control character. Line feeds
// and tabs are allowed where `multiline`.
std::optional<TextFault> FindTextFault(absl::string_view text, bool multiline);

// The text as a valid UTF-8 line, with C's escapes for quotes, backslashes and what is not printable.
std::string Escaped(absl::string_view text);

// The text in double quotes as a message shows it: shortened and escaped.
std::string Shown(absl::string_view text);

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_TEXT_CHECK_H_
