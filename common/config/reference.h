// The table of all options for docs/configuration.md, made from the schema. Pure functions.
#ifndef SSD_COMMON_CONFIG_REFERENCE_H_
#define SSD_COMMON_CONFIG_REFERENCE_H_

#include <string>

namespace ssd {

// In Markdown: a heading and a table for each section, in the schema's order.
std::string ConfigReference();

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_REFERENCE_H_
