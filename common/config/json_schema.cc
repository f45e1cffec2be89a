#include "common/config/json_schema.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/config/reference.h"
#include "common/config/schema.h"
#include "common/config/value.h"
#include "common/logging.h"

namespace ssd {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Json = nlohmann::ordered_json;  // keeps the order of the keys

// Regular expressions for texts, as common/config/value_parser.cc reads them: no sign, as no option with a
// unit may be negative, and no leading zero.
constexpr char kWhole[] = "(?:0|[1-9][0-9]*)";
constexpr char kNumber[] = "(?:(?:0|[1-9][0-9]*)(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][-+]?[0-9]+)?";
constexpr char kNumberWithExponent[] = "(?:(?:0|[1-9][0-9]*)(?:\\.[0-9]*)?|\\.[0-9]+)[eE][-+]?[0-9]+";
constexpr char kNotZero[] = "(?=[0.]*[1-9])";  // stands before a number
constexpr char kOneLine[] = "^[^\\u0000-\\u001F\\u007F]*$";

// A value's text as JSON has it: a number or a truth value where it is one.
Json Value(const Option& option, const std::string& text) {
  const FieldDescriptor::Type type = option.field->type();
  if (option.field->is_repeated()) return Json::array();
  if (type == FieldDescriptor::TYPE_STRING || type == FieldDescriptor::TYPE_ENUM) return text;
  const Json parsed = Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  return parsed.is_discarded() ? Json(text) : parsed;
}

Json Limit(double limit) {
  const int64_t whole = static_cast<int64_t>(limit);
  return static_cast<double>(whole) == limit ? Json(whole) : Json(limit);
}

// The ways in which a reader of YAML may see a value: as one of `types`, or as text that matches one of
// `texts`.
struct Forms {
  std::vector<std::string> types;
  std::vector<std::string> texts;
};

Forms FormsOf(const Option& option) {
  const v1::Unit unit = option.rules().unit();
  switch (option.field->type()) {
    case FieldDescriptor::TYPE_DOUBLE:
      if (unit == v1::UNIT_SECONDS) return {.texts = {absl::StrCat(kNumber, "(?:ms|s|m|h)")}};
      return {.types = {"number"}, .texts = {kNumberWithExponent}};
    case FieldDescriptor::TYPE_INT64:
      if (unit == v1::UNIT_BYTES) {
        return {.types = {"integer"}, .texts = {absl::StrCat(kWhole, "(?:KiB|MiB|GiB)")}};
      }
      return {.types = {"integer"}};
    case FieldDescriptor::TYPE_UINT64:
      return {.types = {"integer"}};
    case FieldDescriptor::TYPE_BOOL:
      return {.types = {"boolean"}};
    case FieldDescriptor::TYPE_MESSAGE:
      return {.texts = {absl::StrCat(kNumber, "ep"), absl::StrCat(kWhole, "it")}};
    default:
      LOG(FATAL) << "no form in JSON for the type of " << option.path;
      return {};
  }
}

// A name or another text. `name: 2026` is text to the loader, and a number to a reader of YAML.
Json TextSchema(const v1::FieldRules& rules) {
  return {{"type", {"string", "number", "boolean"}},
          {"pattern", rules.pattern().empty() ? kOneLine : rules.pattern()}};
}

// One value; of a list, one element.
Json ValueSchema(const Option& option) {
  const v1::FieldRules& rules = option.rules();
  if (option.field->type() == FieldDescriptor::TYPE_STRING) return TextSchema(rules);
  if (option.field->type() == FieldDescriptor::TYPE_ENUM) {
    std::vector<std::string> names = EnumNames(*option.field->enum_type());
    if (rules.auto_()) names.emplace_back("auto");
    return {{"enum", names}};
  }
  Forms forms = FormsOf(option);
  const bool is_number = !forms.types.empty() && (forms.types[0] == "number" || forms.types[0] == "integer");
  const bool not_zero = rules.has_min() && (rules.min() > 0 || rules.above_min());
  if (not_zero) {
    for (std::string& text : forms.texts) text = absl::StrCat(kNotZero, text);
  }
  if (rules.auto_()) forms.texts.emplace_back("auto");
  if (!forms.texts.empty()) forms.types.emplace_back("string");

  Json schema;
  schema["type"] = forms.types.size() == 1 ? Json(forms.types[0]) : Json(forms.types);
  if (is_number && rules.has_min()) {
    schema[rules.above_min() ? "exclusiveMinimum" : "minimum"] = Limit(rules.min());
  }
  if (is_number && rules.has_max()) schema["maximum"] = Limit(rules.max());
  if (option.field->type() == FieldDescriptor::TYPE_UINT64) {
    schema["minimum"] = 0;
    schema["maximum"] = std::numeric_limits<uint64_t>::max();
  }
  if (rules.multiple_of() != 0) schema["multipleOf"] = rules.multiple_of();
  if (!forms.texts.empty()) schema["pattern"] = absl::StrCat("^(?:", absl::StrJoin(forms.texts, "|"), ")$");
  return schema;
}

Json OptionSchema(const Option& option) {
  std::string wanted = WantedValue(option);
  wanted[0] = absl::ascii_toupper(wanted[0]);
  if (option.field->is_repeated()) wanted = absl::StrCat("A list; each element: ", WantedValue(option));
  Json schema;
  schema["description"] =
      absl::StrCat(OptionMeaning(option), "\n\n", wanted, ". Default: ", OptionDefault(option), ".");
  schema["default"] = Value(option, option.rules().default_());
  if (option.field->is_repeated()) {
    schema["type"] = "array";
    schema["items"] = ValueSchema(option);
  } else {
    schema.update(ValueSchema(option));
  }
  return schema;
}

std::vector<std::string> Parts(const std::string& path) { return absl::StrSplit(path, '.'); }

// The innermost section that holds both the option and what it needs; "" is the top level.
std::string SharedSection(const std::string& option, const std::string& need) {
  const std::vector<std::string> a = Parts(option), b = Parts(need);
  std::vector<std::string> shared;
  for (size_t i = 0; i + 1 < std::min(a.size(), b.size()) && a[i] == b[i]; ++i) shared.push_back(a[i]);
  return absl::StrJoin(shared, ".");
}

std::vector<std::string> PartsBelow(const std::string& section, const std::string& path) {
  return Parts(section.empty() ? path : path.substr(section.size() + 1));
}

// Holds of a section whose `need.option` has one of the needed values, by default or because it is given.
Json Met(const std::string& section, const Need& need) {
  const Option& option = *FindOption(need.option);
  const bool by_default =
      std::find(need.values.begin(), need.values.end(), option.rules().default_()) != need.values.end();
  Json condition;
  Json* place = &condition;
  for (const std::string& part : PartsBelow(section, need.option)) {
    if (!by_default) (*place)["required"] = Json::array({part});
    place = &(*place)["properties"][part];
  }
  for (const std::string& value : need.values) (*place)["enum"].push_back(Value(option, value));
  return condition;
}

// What the section's options need within the section, as {if: the need is met, else: {no such option}}.
Json NeedsWithin(const std::string& section) {
  Json rules = Json::array();
  std::vector<const Need*> seen;
  for (const Option& option : Options()) {
    for (const Need& need : option.needs) {
      if (SharedSection(option.path, need.option) != section) continue;
      const auto same = std::find_if(seen.begin(), seen.end(), [&](const Need* other) {
        return other->option == need.option && other->values == need.values;
      });
      const size_t index = same - seen.begin();
      if (same == seen.end()) {
        seen.push_back(&need);
        rules.push_back({{"if", Met(section, need)}, {"else", Json::object()}});
      }
      Json* place = &rules[index]["else"];
      for (const std::string& part : PartsBelow(section, option.path)) place = &(*place)["properties"][part];
      *place = false;
    }
  }
  return rules;
}

// A section whose keys are all commented out is null to a reader of YAML.
Json SectionSchema(const Descriptor& descriptor, const std::string& path) {
  Json schema;
  schema["type"] = {"object", "null"};
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    Json& property = schema["properties"][field.name()];
    if (!IsSection(field)) {
      property = OptionSchema(*FindOption(KeyPath(path, field.name())));
      continue;
    }
    property["description"] = field.options().GetExtension(v1::rules).doc();
    property.update(SectionSchema(*field.message_type(), KeyPath(path, field.name())));
  }
  schema["additionalProperties"] = false;
  if (Json needs = NeedsWithin(path); !needs.empty()) schema["allOf"] = std::move(needs);
  return schema;
}

}  // namespace

std::string ExperimentJsonSchema() {
  Json schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "ssd-sgd experiment";
  schema["description"] =
      "An experiment file of ssd-run, ssd-server and ssd-worker. docs/configuration.md explains how values "
      "are "
      "written; ssd-run --validate_config is the last word on a file.";
  schema.update(SectionSchema(*v1::Experiment::descriptor(), ""));
  return absl::StrCat(schema.dump(/*indent=*/2), "\n");
}

}  // namespace ssd
