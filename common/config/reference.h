// What is said of all options, made from the schema: the page's tables and the terminal's text. Pure
// functions.
#ifndef SSD_COMMON_CONFIG_REFERENCE_H_
#define SSD_COMMON_CONFIG_REFERENCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/config/schema.h"

namespace ssd {

// For docs/configuration.md, in Markdown: a heading and a table for each section, in the schema's order.
std::string ConfigReference();

// For --help_config: type, range, default and meaning of every option below `about`, a section ("sync") or an
// option ("sync.k"); "" is all. InvalidArgument: there is none of that name; the message says what is near.
absl::StatusOr<std::string> ConfigHelp(const std::string& about);

// The option's meaning as plain sentences, with what it needs and whether processes may differ in it.
std::string OptionMeaning(const Option& option);

// The option's default as a file would have it: 0.1, 10ep, "" or [].
std::string OptionDefault(const Option& option);

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_REFERENCE_H_
