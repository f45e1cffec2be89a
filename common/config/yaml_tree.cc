#include "common/config/yaml_tree.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/config/text_check.h"

namespace ssd {
namespace {

std::string PlaceAt(const std::string& name, int line, int column) {
  return absl::StrCat(name, ":", line, ":", column);
}

std::string PlaceAt(const std::string& name, const YAML::Mark& mark) {
  return PlaceAt(name, mark.line + 1, mark.column + 1);
}

// The text from the given line (from 0) on.
absl::string_view FromLine(absl::string_view text, int line) {
  for (; line > 0 && !text.empty(); --line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text;
}

// Advice where yaml-cpp's message does not name the reason: a tab cannot indent.
std::string TabHint(absl::string_view text, int line) {
  const absl::string_view here = FromLine(text, line);
  const absl::string_view indentation = here.substr(0, here.find_first_not_of(" \t"));
  return absl::StrContains(indentation, '\t') ? "; the line is indented with a tab: use spaces" : "";
}

// Builds the tree from the parser's events, which come in the order of the text and are balanced.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& name, absl::string_view text, ErrorList* errors)
      : name_(name), text_(text), errors_(errors) {}

  YamlNode TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    const absl::string_view here = FromLine(text_, mark.line);
    const size_t column = static_cast<size_t>(mark.column);
    if (column < here.size() && here[column] == ',') {
      errors_->Add(PlaceAt(name_, mark), "not valid YAML: a comma outside of a list in brackets");
    } else {
      errors_->Add(PlaceAt(name_, mark), "a second document starts here; an experiment is one document");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Refuse(mark, "?", anchor);
    Deliver(NodeAt(mark, YamlNode::Kind::kNull));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    errors_->Add(PlaceAt(name_, mark), "aliases (*name) are not supported; write the value out");
    Deliver(std::nullopt);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Refuse(mark, tag, anchor);
    YamlNode node = NodeAt(mark, YamlNode::Kind::kScalar);
    node.text = value;
    node.quoted = tag == "!";  // yaml-cpp's tag for a scalar that is not plain
    Deliver(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Refuse(mark, tag, anchor);
    Open(NodeAt(mark, YamlNode::Kind::kSequence));
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Refuse(mark, tag, anchor);
    Open(NodeAt(mark, YamlNode::Kind::kMap));
  }
  void OnMapEnd() override { Close(); }

 private:
  // A list or map under way.
  struct Opened {
    YamlNode node;
    bool has_key = false;         // the next node is the value of `key`
    std::optional<YamlNode> key;  // none: the key was refused, and its value is to be dropped
  };

  static YamlNode NodeAt(const YAML::Mark& mark, YamlNode::Kind kind) {
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  void Refuse(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) {
      errors_->Add(PlaceAt(name_, mark),
                   "anchors (&name) are not supported; write the value out where it is needed");
    }
    if (!tag.empty() && tag != "?" && tag != "!") {
      errors_->Add(PlaceAt(name_, mark),
                   absl::StrCat("the tag ", Shown(tag), " is not supported; leave it out"));
    }
  }

  void Open(YamlNode node) {
    open_.emplace_back();
    open_.back().node = std::move(node);
  }

  void Close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    Deliver(std::move(node));
  }

  // Puts a finished node where it belongs; none stands for one that was refused.
  void Deliver(std::optional<YamlNode> node) {
    if (open_.empty()) {
      if (documents_ == 1 && node.has_value()) root_ = *std::move(node);
      return;
    }
    Opened& open = open_.back();
    if (open.node.kind == YamlNode::Kind::kSequence) {
      if (node.has_value()) open.node.elements.push_back(*std::move(node));
    } else if (!open.has_key) {
      if (node.has_value() && node->kind != YamlNode::Kind::kScalar) {
        errors_->Add(PlaceOf(name_, *node), "a key must be a plain name");
        node.reset();
      }
      open.key = std::move(node);
      open.has_key = true;
    } else {
      if (open.key.has_value() && node.has_value()) {
        open.node.entries.push_back({*std::move(open.key), *std::move(node)});
      }
      open.has_key = false;
    }
  }

  const std::string& name_;
  const absl::string_view text_;
  ErrorList* const errors_;
  int documents_ = 0;
  std::vector<Opened> open_;
  YamlNode root_;
};

}  // namespace

std::optional<YamlNode> ParseYaml(const std::string& name, const std::string& text, ErrorList* errors) {
  if (text.size() > kMaxYamlBytes) {
    errors->Add(name, absl::StrCat("the file has ", text.size(), " bytes; an experiment has at most ",
                                   kMaxYamlBytes));
    return std::nullopt;
  }
  absl::string_view content = text;
  if (absl::StartsWith(content, "\xEF\xBB\xBF")) content.remove_prefix(3);  // a byte order mark
  const std::string lines = absl::StrReplaceAll(content, {{"\r\n", "\n"}});
  if (const std::optional<TextFault> fault = FindTextFault(lines, /*multiline=*/true)) {
    int line = 1, column = 1;
    for (size_t i = 0; i < fault->offset; ++i) {
      ++column;
      if (lines[i] == '\n') ++line, column = 1;
    }
    errors->Add(PlaceAt(name, line, column),
                absl::StrCat("the file is not plain text: it holds ", fault->what));
    return std::nullopt;
  }

  TreeBuilder builder(name, lines, errors);
  try {
    std::istringstream stream(lines);
    YAML::Parser parser(stream);
    // Not to the end: on a comma that belongs to no list, yaml-cpp finds empty documents for ever.
    for (int document = 0; document < 2 && parser.HandleNextDocument(builder); ++document) {
    }
  } catch (const YAML::DeepRecursion& error) {
    errors->Add(PlaceAt(name, error.mark), "lists and sections are nested too deeply");
    return std::nullopt;
  } catch (const YAML::Exception& error) {
    errors->Add(PlaceAt(name, error.mark),
                absl::StrCat("not valid YAML: ", error.msg, TabHint(lines, error.mark.line)));
    return std::nullopt;
  } catch (const std::exception& error) {
    errors->Add(name, absl::StrCat("not valid YAML: ", error.what()));
    return std::nullopt;
  }
  return builder.TakeRoot();
}

std::string PlaceOf(const std::string& name, const YamlNode& node) {
  return PlaceAt(name, node.line, node.column);
}

}  // namespace ssd
