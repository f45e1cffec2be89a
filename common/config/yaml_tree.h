// YAML text as a tree of texts with their places; what a text means is for the reader of the tree to say.
//
// yaml-cpp's own nodes hide duplicate keys and take 010 for 8, so the tree is built from its events. Of YAML,
// maps with plain keys, lists and scalars are taken; anchors, aliases, tags and a second document are
// refused, each with a message. Files with a byte order mark or with CRLF line ends are fine; other control
// characters and text that is not UTF-8 are refused, for yaml-cpp would end the text there or guess another
// encoding, and say nothing.
#ifndef SSD_COMMON_CONFIG_YAML_TREE_H_
#define SSD_COMMON_CONFIG_YAML_TREE_H_

#include <optional>
#include <string>
#include <vector>

#include "common/config/error_list.h"

namespace ssd {

struct YamlEntry;

// A value type.
struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };

  Kind kind = Kind::kNull;         // kNull: nothing, ~ or null
  int line = 1;                    // from 1
  int column = 1;                  // from 1, in bytes
  std::string text;                // kScalar: without its quotes, escapes resolved
  bool quoted = false;             // kScalar: in quotes, or a | or > block
  std::vector<YamlNode> elements;  // kSequence
  std::vector<YamlEntry> entries;  // kMap, in the file's order; duplicates are still there
};

struct YamlEntry {
  YamlNode key;  // a scalar
  YamlNode value;
};

constexpr size_t kMaxYamlBytes = 1 << 20;

// The tree of the text's one document, kNull when there is none. Errors name their places "name:line:column".
// Returns none where the text is no YAML at all, after the one error that says so; other errors leave out the
// part that they are about.
std::optional<YamlNode> ParseYaml(const std::string& name, const std::string& text, ErrorList* errors);

// "name:line:column".
std::string PlaceOf(const std::string& name, const YamlNode& node);

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_YAML_TREE_H_
