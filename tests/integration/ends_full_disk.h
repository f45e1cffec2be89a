// Commands that run another one where there is no room for what it writes.
#ifndef SSD_TESTS_INTEGRATION_ENDS_FULL_DISK_H_
#define SSD_TESTS_INTEGRATION_ENDS_FULL_DISK_H_

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace ssd {

// To be put before a command line: the command sees at `folder` an empty disk of 64 KiB, of which `taken`
// bytes are taken. Nobody else sees it, and it goes with the command. Empty where this machine lets nobody
// mount: as root it takes CAP_SYS_ADMIN, else user namespaces.
inline std::vector<std::string> OnASmallDisk(const std::string& folder, int taken) {
  for (const char* unshare : {"unshare --mount", "unshare --user --map-root-user --mount"}) {
    if (std::system(absl::StrCat(unshare, " mount -t tmpfs none /tmp > /dev/null 2>&1").c_str()) != 0)
      continue;
    return {"/bin/sh", "-c",
            absl::StrCat("exec ", unshare, " /bin/sh -c 'mount -t tmpfs -o size=64k none ", folder,
                         " && head -c ", taken, " /dev/zero > ", folder, "/taken && exec \"$@\"' sh \"$@\""),
            "sh"};
  }
  return {};
}

inline constexpr char kCannotMount[] =
    "this machine does not let a test mount a small disk: run it as root with CAP_SYS_ADMIN (docker run "
    "--cap-add SYS_ADMIN), or allow user namespaces";

// To be put before a command line: no file that the command writes can be larger than 64 KiB.
inline std::vector<std::string> WithSmallFilesOnly() {
  return {"/bin/sh", "-c", "ulimit -f 128 && exec \"$@\"", "sh"};  // dash counts blocks of 512 bytes
}

}  // namespace ssd

#endif  // SSD_TESTS_INTEGRATION_ENDS_FULL_DISK_H_
