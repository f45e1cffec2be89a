#include "common/config/reference.h"

#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/config/text_check.h"
#include "common/config/value.h"
#include "common/suggestion.h"
#include "common/wrapped_text.h"

namespace ssd {
namespace {

using google::protobuf::FieldDescriptor;

constexpr size_t kMeaningIndent = 8;
constexpr char kHelpIntroduction[] =
    "All options of an experiment file, by section. In a file they are keys of YAML; --set sync.k=8 sets one "
    "on the command line. docs/configuration.md says how values are written.";

// `code` goes around what is written as it stands: "`" in Markdown, "" elsewhere.
std::string TypeName(const Option& option, absl::string_view code) {
  std::string name;
  switch (option.field->type()) {
    case FieldDescriptor::TYPE_DOUBLE:
      name = option.rules().unit() == v1::UNIT_SECONDS ? "time" : "number";
      break;
    case FieldDescriptor::TYPE_INT64:
    case FieldDescriptor::TYPE_UINT64:
      name = option.rules().unit() == v1::UNIT_BYTES ? "size" : "whole number";
      break;
    case FieldDescriptor::TYPE_BOOL:
      name = "true or false";
      break;
    case FieldDescriptor::TYPE_ENUM:
      name = absl::StrJoin(EnumNames(*option.field->enum_type()), code.empty() ? " | " : "` `");
      name = absl::StrCat(code, name, code);
      break;
    case FieldDescriptor::TYPE_STRING:
      name = "text";
      break;
    default:
      name = "length of training";
      break;
  }
  if (option.field->is_repeated()) name = absl::StrCat("list of ", name);
  return option.rules().auto_() ? absl::StrCat(name, " or ", code, "auto", code) : name;
}

std::string Meaning(const Option& option, absl::string_view code) {
  std::string text = option.rules().doc();
  for (const Need& need : option.needs) {
    absl::StrAppend(&text, " Only with ", code, need.option, ": ", need.Alternatives(code), code, ".");
  }
  if (option.rules().local()) absl::StrAppend(&text, " May differ between processes.");
  return text;
}

// "sync.local" of "sync.local.alpha".
std::string SectionOf(const Option& option) {
  const size_t dot = option.path.rfind('.');
  return dot == std::string::npos ? "" : option.path.substr(0, dot);
}

const std::string& SectionDoc(const Option& option) {
  return option.sections.back()->options().GetExtension(v1::rules).doc();
}

}  // namespace

std::string OptionMeaning(const Option& option) { return Meaning(option, ""); }

std::string OptionDefault(const Option& option) {
  if (option.field->is_repeated()) return "[]";
  return option.rules().default_().empty() ? "\"\"" : option.rules().default_();
}

std::string ConfigReference() {
  std::string text, section = "none yet";
  for (const Option& option : Options()) {
    if (const std::string here = SectionOf(option); here != section) {
      section = here;
      absl::StrAppend(&text, text.empty() ? "" : "\n", "### ",
                      here.empty() ? "Top level" : absl::StrCat("`", here, "`"), "\n\n");
      if (!option.sections.empty()) absl::StrAppend(&text, SectionDoc(option), "\n\n");
      absl::StrAppend(&text, "| key | type | default | range | meaning |\n| --- | --- | --- | --- | --- |\n");
    }
    absl::StrAppend(&text, "| `", option.field->name(), "` | ", TypeName(option, "`"), " | `",
                    OptionDefault(option), "` | ", AllowedRange(option), " | ",
                    absl::StrReplaceAll(Meaning(option, "`"), {{"|", "\\|"}, {"<", "\\<"}}), " |\n");
  }
  return text;
}

absl::StatusOr<std::string> ConfigHelp(const std::string& about) {
  std::string text, section;
  for (const Option& option : Options()) {
    if (!about.empty() && option.path != about && !absl::StartsWith(option.path, absl::StrCat(about, "."))) {
      continue;
    }
    if (const std::string here = SectionOf(option); here != section) {
      section = here;
      absl::StrAppend(&text, text.empty() ? "" : "\n",
                      WrappedText(absl::StrCat(here, ": ", SectionDoc(option)), 0));
    }
    const std::string range = AllowedRange(option);
    absl::StrAppend(&text, "  ", option.path, "\n",
                    WrappedText(absl::StrCat(TypeName(option, ""), range.empty() ? "" : ", ", range,
                                             "; default ", OptionDefault(option)),
                                kMeaningIndent),
                    WrappedText(OptionMeaning(option), kMeaningIndent));
  }
  if (!text.empty())
    return about.empty() ? absl::StrCat(WrappedText(kHelpIntroduction, 0), "\n", text) : text;
  std::vector<std::string> names;
  for (const Key& key : Keys()) names.push_back(key.path());
  const std::optional<std::string> nearest = Nearest(about, names);
  return absl::InvalidArgumentError(
      absl::StrCat("--help_config: no section and no option is called ", Shown(about),
                   nearest.has_value() ? absl::StrCat("; did you mean \"", *nearest, "\"?") : ""));
}

}  // namespace ssd
