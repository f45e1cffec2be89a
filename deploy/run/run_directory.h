// The folder of one run: <directory>/<name>/NNN.
#ifndef SSD_DEPLOY_RUN_RUN_DIRECTORY_H_
#define SSD_DEPLOY_RUN_RUN_DIRECTORY_H_

#include <string>

#include "absl/status/statusor.h"

namespace ssd {

// Makes and returns <directory>/<name>/NNN with the first free number from 001 on (four digits and more after
// 999). mkdir decides, so two launchers at once never share a folder, and no run overwrites another's. Errors
// as Disk's.
absl::StatusOr<std::string> CreateRunDirectory(const std::string& directory, const std::string& name);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_RUN_DIRECTORY_H_
