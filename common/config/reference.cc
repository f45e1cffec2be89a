#include "common/config/reference.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/config/schema.h"
#include "common/config/value.h"

namespace ssd {
namespace {

using google::protobuf::FieldDescriptor;

std::string TypeName(const Option& option) {
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
      name = absl::StrCat("`", absl::StrJoin(EnumNames(*option.field->enum_type()), "` `"), "`");
      break;
    case FieldDescriptor::TYPE_STRING:
      name = "text";
      break;
    default:
      name = "length of training";
      break;
  }
  if (option.field->is_repeated()) name = absl::StrCat("list of ", name);
  return option.rules().auto_() ? absl::StrCat(name, " or `auto`") : name;
}

std::string DefaultValue(const Option& option) {
  if (option.field->is_repeated()) return "[]";
  return option.rules().default_().empty() ? "\"\"" : option.rules().default_();
}

std::string Meaning(const Option& option) {
  std::string text = option.rules().doc();
  for (const Need& need : option.needs) {
    absl::StrAppend(&text, " Only with `", need.option, ": ", need.Alternatives("`"), "`.");
  }
  if (option.rules().local()) absl::StrAppend(&text, " May differ between processes.");
  return absl::StrReplaceAll(text, {{"|", "\\|"}, {"<", "\\<"}});
}

}  // namespace

std::string ConfigReference() {
  std::string text, section = "none yet";
  for (const Option& option : Options()) {
    const size_t dot = option.path.rfind('.');
    const std::string here = dot == std::string::npos ? "" : option.path.substr(0, dot);
    if (here != section) {
      section = here;
      absl::StrAppend(&text, text.empty() ? "" : "\n", "### ",
                      here.empty() ? "Top level" : absl::StrCat("`", here, "`"), "\n\n");
      if (!option.sections.empty()) {
        absl::StrAppend(&text, option.sections.back()->options().GetExtension(v1::rules).doc(), "\n\n");
      }
      absl::StrAppend(&text, "| key | type | default | range | meaning |\n| --- | --- | --- | --- | --- |\n");
    }
    absl::StrAppend(&text, "| `", option.field->name(), "` | ", TypeName(option), " | `",
                    DefaultValue(option), "` | ", AllowedRange(option), " | ", Meaning(option), " |\n");
  }
  return text;
}

}  // namespace ssd
