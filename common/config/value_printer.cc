#include <charconv>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/config/value.h"
#include "common/logging.h"

namespace ssd {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string FormatBytes(int64_t bytes) {
  const struct {
    int64_t size;
    const char* name;
  } units[] = {{int64_t{1} << 30, "GiB"}, {int64_t{1} << 20, "MiB"}, {int64_t{1} << 10, "KiB"}};
  for (const auto& unit : units) {
    if (bytes >= unit.size && bytes % unit.size == 0) return absl::StrCat(bytes / unit.size, unit.name);
  }
  return absl::StrCat(bytes);
}

std::string FormatTrainingTime(const v1::TrainingTime& time) {
  return time.has_epochs() ? absl::StrCat(FormatNumber(time.epochs()), "ep")
                           : absl::StrCat(time.iterations(), "it");
}

// In double quotes unless it is made of characters, and starts with one, that YAML gives no meaning.
std::string FormatText(const std::string& text) {
  bool plain = !text.empty() && (absl::ascii_isalnum(text[0]) || text[0] == '/' || text[0] == '_') &&
               !absl::EqualsIgnoreCase(text, "null");
  for (unsigned char c : text)
    plain = plain && (absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '/' || c == '-');
  if (plain) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

std::string FormatElement(const FieldDescriptor& field, const Message& parent, int i) {
  const Reflection& reflection = *parent.GetReflection();
  switch (field.type()) {
    case FieldDescriptor::TYPE_STRING:
      return FormatText(reflection.GetRepeatedString(parent, &field, i));
    case FieldDescriptor::TYPE_INT64:
      return absl::StrCat(reflection.GetRepeatedInt64(parent, &field, i));
    default:
      return FormatTrainingTime(
          static_cast<const v1::TrainingTime&>(reflection.GetRepeatedMessage(parent, &field, i)));
  }
}

std::string FormatLimit(const Option& option, double limit) {
  switch (option.rules().unit()) {
    case v1::UNIT_SECONDS:
      return absl::StrCat(FormatNumber(limit), "s");
    case v1::UNIT_BYTES:
      return FormatBytes(static_cast<int64_t>(limit));
    default:
      break;
  }
  const bool whole = option.field->type() == FieldDescriptor::TYPE_INT64;
  return whole ? absl::StrCat(static_cast<int64_t>(limit)) : FormatNumber(limit);
}

}  // namespace

std::string FormatNumber(double number) {
  char text[32];  // the longest is like -2.2250738585072014e-308
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  CHECK(error == std::errc());
  // 1e-4 rather than 1e-04.
  return absl::StrReplaceAll(absl::string_view(text, end - text), {{"e-0", "e-"}, {"e+0", "e+"}});
}

std::string AllowedRange(const Option& option) {
  const v1::FieldRules& rules = option.rules();
  const std::string min = FormatLimit(option, rules.min());
  const std::string max = FormatLimit(option, rules.max());
  std::string range;
  if (rules.has_min() && rules.has_max()) {
    range = rules.above_min() ? absl::StrCat("above ", min, " and at most ", max)
                              : absl::StrCat("from ", min, " to ", max);
  } else if (rules.has_min()) {
    range = absl::StrCat(rules.above_min() ? "above " : "of at least ", min);
  } else if (rules.has_max()) {
    range = absl::StrCat("of at most ", max);
  }
  if (rules.multiple_of() != 0) {
    absl::StrAppend(&range, range.empty() ? "" : ", ", "a multiple of ", rules.multiple_of());
  }
  return range;
}

std::string WantedValue(const Option& option) {
  const v1::FieldRules& rules = option.rules();
  std::string wanted;
  switch (option.field->type()) {
    case FieldDescriptor::TYPE_DOUBLE:
      wanted = rules.unit() == v1::UNIT_SECONDS ? "a time such as 30s, 500ms, 5m or 2h" : "a number";
      break;
    case FieldDescriptor::TYPE_INT64:
      wanted =
          rules.unit() == v1::UNIT_BYTES ? "a size in bytes such as 65536, 64KiB or 1MiB" : "a whole number";
      break;
    case FieldDescriptor::TYPE_UINT64:
      wanted = "a whole number from 0 to 18446744073709551615";
      break;
    case FieldDescriptor::TYPE_BOOL:
      wanted = "true or false";
      break;
    case FieldDescriptor::TYPE_ENUM:
      wanted = absl::StrCat("one of ", absl::StrJoin(EnumNames(*option.field->enum_type()), ", "));
      break;
    case FieldDescriptor::TYPE_STRING:
      wanted = "text";
      break;
    default:
      wanted = "a length of training such as 10ep or 500it";
      break;
  }
  const std::string range = AllowedRange(option);
  if (!range.empty()) absl::StrAppend(&wanted, absl::StrContains(wanted, " such as ") ? ", " : " ", range);
  if (rules.auto_()) absl::StrAppend(&wanted, ", or auto");
  return wanted;
}

std::string FormatValue(const Option& option, const Message& parent) {
  const FieldDescriptor* const field = option.field;
  const Reflection& reflection = *parent.GetReflection();
  if (field->is_repeated()) {
    std::vector<std::string> elements;
    const int size = reflection.FieldSize(parent, field);
    elements.reserve(size);
    for (int i = 0; i < size; ++i) {
      elements.push_back(FormatElement(*field, parent, i));
    }
    return absl::StrCat("[", absl::StrJoin(elements, ", "), "]");
  }
  if (option.rules().auto_() && !reflection.HasField(parent, field)) return "auto";
  switch (field->type()) {
    case FieldDescriptor::TYPE_DOUBLE:
      return absl::StrCat(FormatNumber(reflection.GetDouble(parent, field)),
                          option.rules().unit() == v1::UNIT_SECONDS ? "s" : "");
    case FieldDescriptor::TYPE_INT64: {
      const int64_t number = reflection.GetInt64(parent, field);
      return option.rules().unit() == v1::UNIT_BYTES ? FormatBytes(number) : absl::StrCat(number);
    }
    case FieldDescriptor::TYPE_UINT64:
      return absl::StrCat(reflection.GetUInt64(parent, field));
    case FieldDescriptor::TYPE_BOOL:
      return reflection.GetBool(parent, field) ? "true" : "false";
    case FieldDescriptor::TYPE_ENUM:
      return reflection.GetEnum(parent, field)->name();
    case FieldDescriptor::TYPE_STRING:
      return FormatText(reflection.GetString(parent, field));
    default:
      return FormatTrainingTime(static_cast<const v1::TrainingTime&>(reflection.GetMessage(parent, field)));
  }
}

}  // namespace ssd
