// The end of a process's log, for who asks why it ended.
#ifndef SSD_DEPLOY_RUN_LOG_TAIL_H_
#define SSD_DEPLOY_RUN_LOG_TAIL_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ssd {

// The last `max_lines` lines of the file, without their line ends; an unfinished last line counts. Looks at
// the last 64 KiB only. Empty where the file is empty or cannot be read: there is nothing to show then.
std::vector<std::string> LastLines(const std::string& path, int max_lines);

// Whether a server's log says that it accepts connections.
bool SaysListening(const std::string& path);

// What a process says of its own end, from a log's lines: the text behind the last "exit code=<n> ", or "".
std::string EndingMessage(const std::vector<std::string>& lines);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_LOG_TAIL_H_
