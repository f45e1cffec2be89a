// Which ssd-sgd this is, and with which libraries it was built.
#ifndef SSD_COMMON_VERSION_H_
#define SSD_COMMON_VERSION_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace ssd {

std::string ProgramVersion();  // "0.1.0"

// Name and version of each library, "CUDA" with "none" in a build without it.
std::vector<std::pair<std::string, std::string>> LibraryVersions();

// What --version prints: "ssd-run 0.1.0\n" and a line for each library.
std::string VersionText(absl::string_view program);

}  // namespace ssd

#endif  // SSD_COMMON_VERSION_H_
