// Text that a peer has sent, made fit for a message or a log line: a peer's megabytes, line breaks and control characters
// must not become ours. Pure functions.
#ifndef SSD_SERVER_BOUNDED_TEXT_H_
#define SSD_SERVER_BOUNDED_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ssd {

// For names and values in a message of ours.
inline constexpr size_t kMaxNameBytes = 200;
// For a whole message of a peer, which is passed on.
inline constexpr size_t kMaxMessageBytes = 2000;

// `text`, which is valid UTF-8 (protobuf's strings are), with '?' for each control character; where it has more than
// `limit` bytes, its beginning and "...".
std::string BoundedText(absl::string_view text, size_t limit = kMaxNameBytes);

}  // namespace ssd

#endif  // SSD_SERVER_BOUNDED_TEXT_H_
