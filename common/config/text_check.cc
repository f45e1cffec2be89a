#include "common/config/text_check.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ssd {
namespace {

constexpr size_t kShownBytes = 60;

// The bytes of the UTF-8 character that `text` starts with; 0 where it starts with none. REQUIRES: not empty.
size_t CharacterBytes(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const size_t size = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and what lies beyond U+10FFFF show in the second byte.
  if (byte(0) == 0xE0 && byte(1) < 0xA0) return 0;
  if (byte(0) == 0xED && byte(1) > 0x9F) return 0;
  if (byte(0) == 0xF0 && byte(1) < 0x90) return 0;
  if (byte(0) == 0xF4 && byte(1) > 0x8F) return 0;
  return size;
}

}  // namespace

std::optional<TextFault> FindTextFault(absl::string_view text, bool multiline) {
  for (size_t offset = 0; offset < text.size();) {
    const uint8_t byte = static_cast<uint8_t>(text[offset]);
    const bool layout = multiline && (byte == '\n' || byte == '\t');
    if ((byte < 0x20 && !layout) || byte == 0x7F) {
      return TextFault{offset, absl::StrFormat("the control character 0x%02x", byte)};
    }
    const size_t size = CharacterBytes(text.substr(offset));
    if (size == 0) return TextFault{offset, absl::StrFormat("the byte 0x%02x, which is not UTF-8", byte)};
    offset += size;
  }
  return std::nullopt;
}

std::string Escaped(absl::string_view text) {
  for (absl::string_view rest = text; !rest.empty();) {
    const size_t size = CharacterBytes(rest);
    if (size == 0) return absl::CEscape(text);  // all that is not ASCII, so that the result is valid UTF-8
    rest.remove_prefix(size);
  }
  return absl::Utf8SafeCEscape(text);
}

std::string Shown(absl::string_view text) {
  if (text.size() <= kShownBytes) return absl::StrCat("\"", Escaped(text), "\"");
  size_t end = kShownBytes;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;  // not within a character
  return absl::StrCat("\"", Escaped(text.substr(0, end)), "...\" (", text.size(), " bytes)");
}

}  // namespace ssd
