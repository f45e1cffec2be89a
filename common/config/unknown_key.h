// What to say about a key that does not exist.
#ifndef SSD_COMMON_CONFIG_UNKNOWN_KEY_H_
#define SSD_COMMON_CONFIG_UNKNOWN_KEY_H_

#include <string>

namespace ssd {

// `section` ("" at the top level) has no `key`. Names where that key exists, what other trainers call by that
// name, the nearest key, or else all keys of the section. `in_file`: suggest a key as it stands in a file
// ("lr"), not as --set wants it ("optimizer.lr"). Pure.
std::string UnknownKeyMessage(const std::string& section, const std::string& key, bool in_file);

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_UNKNOWN_KEY_H_
