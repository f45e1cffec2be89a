#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/config/text_check.h"
#include "common/config/value.h"
#include "common/logging.h"
#include "common/suggestion.h"

namespace ssd {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// A value, or advice on how to write it.
template <typename T>
struct Reading {
  std::optional<T> value;
  std::string hint{};
};

// Takes a number from the front of `text`; none, and `text` as it was, where there is none or it does not
// fit.
template <typename T>
std::optional<T> TakeNumber(absl::string_view* text) {
  T number{};
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(number)) return std::nullopt;
    number += 0.0;  // -0 becomes 0, so that equal values print equally
  }
  text->remove_prefix(end - text->data());
  return number;
}

// 010 is 8 to YAML 1.1 and 10 to YAML 1.2: advice where `text` starts like that, else empty.
std::string LeadingZeroHint(absl::string_view text) {
  size_t i = !text.empty() && text[0] == '-' ? 1 : 0;
  const size_t first = i;
  while (i + 1 < text.size() && text[i] == '0' && absl::ascii_isdigit(text[i + 1])) ++i;
  if (i == first) return "";
  return absl::StrCat("a leading 0 means octal to some: write ", text.substr(0, first), text.substr(i));
}

template <typename T>
Reading<T> ReadNumber(absl::string_view text) {
  if (std::string hint = LeadingZeroHint(text); !hint.empty()) return {std::nullopt, hint};
  const std::optional<T> number = TakeNumber<T>(&text);
  return {text.empty() ? number : std::nullopt};
}

Reading<double> ReadSeconds(absl::string_view text) {
  if (std::string hint = LeadingZeroHint(text); !hint.empty()) return {std::nullopt, hint};
  const absl::string_view whole = text;
  const std::optional<double> number = TakeNumber<double>(&text);
  if (!number.has_value()) return {};
  if (text == "ms") return {*number / 1000};
  if (text == "s") return {*number};
  if (text == "m") return {*number * 60};
  if (text == "h") return {*number * 3600};
  if (text.empty()) return {std::nullopt, absl::StrCat("write its unit: ", whole, "s")};
  return {std::nullopt, "the units are ms, s, m and h"};
}

Reading<int64_t> ReadBytes(absl::string_view text) {
  if (std::string hint = LeadingZeroHint(text); !hint.empty()) return {std::nullopt, hint};
  const std::optional<int64_t> number = TakeNumber<int64_t>(&text);
  if (!number.has_value()) return {};
  int64_t unit = 0;
  if (text.empty()) unit = 1;
  if (text == "KiB") unit = int64_t{1} << 10;
  if (text == "MiB") unit = int64_t{1} << 20;
  if (text == "GiB") unit = int64_t{1} << 30;
  if (unit == 0) return {std::nullopt, "the units are KiB, MiB and GiB"};
  if (*number > std::numeric_limits<int64_t>::max() / unit || *number < 0) return {};
  return {*number * unit};
}

Reading<v1::TrainingTime> ReadTrainingTime(absl::string_view text) {
  if (std::string hint = LeadingZeroHint(text); !hint.empty()) return {std::nullopt, hint};
  absl::string_view unit = text, fraction = text;
  const std::optional<double> number = TakeNumber<double>(&unit);
  if (!number.has_value()) return {};
  v1::TrainingTime time;
  if (unit == "ep") {
    if (*number > kMaxEpochs) return {std::nullopt, absl::StrCat("at most ", kMaxEpochs, "ep")};
    time.set_epochs(*number);
    return {time};
  }
  if (unit == "it") {
    if (*number > kMaxIterations) return {std::nullopt, absl::StrCat("at most ", kMaxIterations, "it")};
    const std::optional<int64_t> steps = TakeNumber<int64_t>(&fraction);
    if (!steps.has_value() || fraction != "it") return {std::nullopt, "it counts whole steps"};
    time.set_iterations(*steps);
    return {time};
  }
  if (unit.empty()) {
    return {std::nullopt, absl::StrCat("write ", text, "ep for epochs or ", text, "it for steps")};
  }
  return {std::nullopt, "the units are ep (epochs) and it (steps)"};
}

Reading<bool> ReadBool(const std::string& text) {
  if (text == "true") return {true};
  if (text == "false") return {false};
  const std::string lower = absl::AsciiStrToLower(text);
  for (absl::string_view yes : {"yes", "on", "y", "1", "true"}) {
    if (lower == yes) return {std::nullopt, "write true"};
  }
  for (absl::string_view no : {"no", "off", "n", "0", "false"}) {
    if (lower == no) return {std::nullopt, "write false"};
  }
  return {};
}

Reading<int> ReadEnum(const FieldDescriptor& field, const std::string& text) {
  const std::vector<std::string> names = EnumNames(*field.enum_type());
  for (const std::string& name : names) {
    if (name == text) return {field.enum_type()->FindValueByName(name)->number()};
  }
  const std::optional<std::string> nearest = Nearest(text, names);
  return {std::nullopt, nearest.has_value() ? absl::StrCat("did you mean \"", *nearest, "\"?") : ""};
}

Reading<std::string> ReadText(const std::string& text) {
  const std::optional<TextFault> fault = FindTextFault(text, /*multiline=*/false);
  if (fault.has_value()) return {std::nullopt, absl::StrCat("it holds ", fault->what)};
  return {text};
}

bool InRange(const v1::FieldRules& rules, double value) {
  if (rules.has_min() && (value < rules.min() || (rules.above_min() && value == rules.min()))) return false;
  return !rules.has_max() || value <= rules.max();
}

bool Fits(const v1::FieldRules& rules, int64_t value) {
  return InRange(rules, static_cast<double>(value)) &&
         (rules.multiple_of() == 0 || value % rules.multiple_of() == 0);
}

double Magnitude(const v1::TrainingTime& time) {
  return time.has_epochs() ? time.epochs() : static_cast<double>(time.iterations());
}

}  // namespace

absl::Status ParseValue(const Option& option, const std::string& text, bool quoted, Message* parent) {
  const FieldDescriptor* const field = option.field;
  const v1::FieldRules& rules = option.rules();
  const Reflection& reflection = *parent->GetReflection();
  const auto refused = [&](const std::string& hint) {
    return absl::InvalidArgumentError(absl::StrCat("got ", Shown(text), quoted ? " in quotes" : "", ", want ",
                                                   WantedValue(option), hint.empty() ? "" : "; ", hint));
  };
  if (rules.auto_() && text == "auto" && !quoted) {
    reflection.ClearField(parent, field);
    return absl::OkStatus();
  }
  const bool is_text =
      field->type() == FieldDescriptor::TYPE_STRING || field->type() == FieldDescriptor::TYPE_ENUM;
  if (quoted && !is_text) return refused("remove the quotes");

  switch (field->type()) {
    case FieldDescriptor::TYPE_DOUBLE: {
      const auto read = rules.unit() == v1::UNIT_SECONDS ? ReadSeconds(text) : ReadNumber<double>(text);
      if (!read.value.has_value() || !InRange(rules, *read.value)) return refused(read.hint);
      reflection.SetDouble(parent, field, *read.value);
      return absl::OkStatus();
    }
    case FieldDescriptor::TYPE_INT64: {
      const auto read = rules.unit() == v1::UNIT_BYTES ? ReadBytes(text) : ReadNumber<int64_t>(text);
      if (!read.value.has_value() || !Fits(rules, *read.value)) return refused(read.hint);
      if (field->is_repeated()) {
        reflection.AddInt64(parent, field, *read.value);
      } else {
        reflection.SetInt64(parent, field, *read.value);
      }
      return absl::OkStatus();
    }
    case FieldDescriptor::TYPE_UINT64: {
      const auto read = ReadNumber<uint64_t>(text);
      if (!read.value.has_value() || !InRange(rules, static_cast<double>(*read.value)))
        return refused(read.hint);
      reflection.SetUInt64(parent, field, *read.value);
      return absl::OkStatus();
    }
    case FieldDescriptor::TYPE_BOOL: {
      const auto read = ReadBool(text);
      if (!read.value.has_value()) return refused(read.hint);
      reflection.SetBool(parent, field, *read.value);
      return absl::OkStatus();
    }
    case FieldDescriptor::TYPE_ENUM: {
      const auto read = ReadEnum(*field, text);
      if (!read.value.has_value()) return refused(read.hint);
      reflection.SetEnumValue(parent, field, *read.value);
      return absl::OkStatus();
    }
    case FieldDescriptor::TYPE_STRING: {
      const auto read = ReadText(text);
      if (!read.value.has_value()) return refused(read.hint);
      if (field->is_repeated()) {
        reflection.AddString(parent, field, *read.value);
      } else {
        reflection.SetString(parent, field, *read.value);
      }
      return absl::OkStatus();
    }
    case FieldDescriptor::TYPE_MESSAGE: {
      const auto read = ReadTrainingTime(text);
      if (!read.value.has_value() || !InRange(rules, Magnitude(*read.value))) return refused(read.hint);
      Message* const time = field->is_repeated() ? reflection.AddMessage(parent, field)
                                                 : reflection.MutableMessage(parent, field);
      time->CopyFrom(*read.value);
      return absl::OkStatus();
    }
    default:
      LOG(FATAL) << "no text form for the type of " << option.path;
      return absl::InternalError("unreachable");
  }
}

}  // namespace ssd
