#include "server/bounded_text.h"

#include <cstdint>

namespace ssd {

std::string BoundedText(absl::string_view text, size_t limit) {
  size_t end = text.size();
  if (end > limit) {
    end = limit;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;  // not within a character
  }
  std::string bounded(text.substr(0, end));
  for (char& c : bounded) {
    if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F) c = '?';
  }
  if (end < text.size()) bounded += "...";
  return bounded;
}

}  // namespace ssd
