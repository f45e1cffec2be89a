// Exit codes in words.
#ifndef SSD_DEPLOY_RUN_EXIT_MEANING_H_
#define SSD_DEPLOY_RUN_EXIT_MEANING_H_

#include <string>

namespace ssd {

// "training diverged" for 4, "ended by signal 9 (Killed)" for 137; docs/exit_codes.md has more of each.
std::string ExitMeaning(int code);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_EXIT_MEANING_H_
