#include "common/flags.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "common/suggestion.h"
#include "common/wrapped_text.h"

namespace ssd {
namespace {

constexpr size_t kDocIndent = 8;

// The declared flags and those that every program has.
std::vector<FlagSpec> AllFlags(const CommandLine& line) {
  std::vector<FlagSpec> flags = line.flags;
  flags.push_back({.name = "help", .doc = "Prints this text and exits.", .group = "About"});
  flags.push_back({.name = "version",
                   .doc = "Prints the versions of this program and its libraries, and exits.",
                   .group = "About"});
  return flags;
}

// How the help shows a flag's value: "=FILE", "[=SECTION]", or nothing.
std::string Argument(const FlagSpec& flag) {
  if (flag.value.empty()) return "";
  return flag.optional ? absl::StrCat("[=", flag.value, "]") : absl::StrCat("=", flag.value);
}

}  // namespace

class FlagParser {
 public:
  explicit FlagParser(const CommandLine& line) : line_(line), flags_(AllFlags(line)) {
    for (const FlagSpec& flag : flags_) {
      CHECK(parsed_.values_.emplace(flag.name, std::vector<std::string>()).second)
          << "flag --" << flag.name << " is declared twice";
    }
  }

  absl::StatusOr<ParsedFlags> Parse(std::vector<std::string> arguments) {
    size_t next = 0;
    while (next < arguments.size() && !parsed_.Has("help") && !parsed_.Has("version")) {
      const std::string& argument = arguments[next++];
      if (argument == "--") {
        parsed_.positional_.insert(parsed_.positional_.end(),
                                   arguments.begin() + static_cast<std::ptrdiff_t>(next), arguments.end());
        break;
      }
      if (argument == "-h") {
        parsed_.values_["help"] = {"true"};
      } else if (argument.size() > 1 && argument[0] == '-') {
        RETURN_IF_ERROR(ParseFlag(argument, arguments, &next));
      } else {
        parsed_.positional_.push_back(argument);
      }
    }
    const size_t seen = parsed_.positional_.size();
    if (line_.max_positional >= 0 && seen > static_cast<size_t>(line_.max_positional)) {
      return absl::InvalidArgumentError(absl::StrCat("unexpected argument \"",
                                                     parsed_.positional_[line_.max_positional],
                                                     "\"; usage: ", line_.program, " ", line_.usage));
    }
    return std::move(parsed_);
  }

 private:
  // `argument` starts with a dash; its value may be the next argument.
  absl::Status ParseFlag(const std::string& argument, const std::vector<std::string>& arguments,
                         size_t* next) {
    const size_t equals = argument.find('=');
    const std::string written = argument.substr(0, equals);
    const FlagSpec* flag = absl::StartsWith(written, "--") ? Find(written.substr(2)) : nullptr;
    if (flag == nullptr) return Unknown(written);
    const bool is_switch = flag->value.empty();

    std::string value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (is_switch) {
      value = "true";
    } else if (flag->optional) {
      value = "";  // the next argument is not its own: --help_config experiment.yaml
    } else if (*next < arguments.size() && !absl::StartsWith(arguments[*next], "--")) {
      value = arguments[(*next)++];
    } else {
      return absl::InvalidArgumentError(absl::StrCat(written, " needs a value: ", written, " ", flag->value));
    }
    if (is_switch && value != "true" && value != "false") {
      return absl::InvalidArgumentError(
          absl::StrCat(written, ": got \"", value, "\", want true or false, or no value at all"));
    }
    std::vector<std::string>& values = parsed_.values_[flag->name];
    if (!flag->repeated && !values.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(written, " is given twice: \"", values[0], "\" and \"", value, "\""));
    }
    values.push_back(std::move(value));
    return absl::OkStatus();
  }

  const FlagSpec* Find(const std::string& name) const {
    const auto found =
        std::find_if(flags_.begin(), flags_.end(), [&](const FlagSpec& flag) { return flag.name == name; });
    return found == flags_.end() ? nullptr : &*found;
  }

  absl::Status Unknown(const std::string& written) const {
    std::vector<std::string> names;
    for (const FlagSpec& flag : flags_) names.push_back(flag.name);
    const size_t dashes = std::min(written.find_first_not_of('-'), written.size());
    const std::optional<std::string> nearest = Nearest(written.substr(dashes), names);
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown flag ", written,
        nearest.has_value() ? absl::StrCat("; did you mean --", *nearest, "?") : "; --help lists all flags"));
  }

  const CommandLine& line_;
  const std::vector<FlagSpec> flags_;
  ParsedFlags parsed_;
};

bool ParsedFlags::Has(const std::string& name) const { return !Values(name).empty(); }

bool ParsedFlags::IsOn(const std::string& name) const { return Value(name) == "true"; }

std::optional<std::string> ParsedFlags::Value(const std::string& name) const {
  const std::vector<std::string>& values = Values(name);
  CHECK_LE(values.size(), 1u) << "flag --" << name << " is a repeated one";
  return values.empty() ? std::nullopt : std::optional<std::string>(values[0]);
}

const std::vector<std::string>& ParsedFlags::Values(const std::string& name) const {
  const auto found = values_.find(name);
  CHECK(found != values_.end()) << "flag --" << name << " is not declared";
  return found->second;
}

absl::StatusOr<std::optional<int64_t>> ParsedFlags::Integer(const std::string& name, int64_t min,
                                                            int64_t max) const {
  const std::optional<std::string> text = Value(name);
  if (!text.has_value()) return std::optional<int64_t>();
  int64_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end || value < min || value > max) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, ": got \"", *text, "\", want a whole number from ", min, " to ", max));
  }
  return std::optional<int64_t>(value);
}

absl::Status ParsedFlags::Excludes(const std::string& name, const std::vector<std::string>& others) const {
  if (!Has(name)) return absl::OkStatus();
  for (const std::string& other : others) {
    if (Has(other))
      return absl::InvalidArgumentError(absl::StrCat("--", other, " has no effect with --", name));
  }
  return absl::OkStatus();
}

absl::StatusOr<ParsedFlags> ParseFlags(const CommandLine& line, int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) arguments.emplace_back(argv[i]);  // argv[0] is the program; argc may be 0
  return FlagParser(line).Parse(std::move(arguments));
}

std::string HelpText(const CommandLine& line) {
  std::string text = absl::StrCat("Usage: ", line.program, " ", line.usage, "\n\n");
  absl::StrAppend(&text, WrappedText(line.description, 0));
  std::string group;
  for (const FlagSpec& flag : AllFlags(line)) {
    const std::string heading = flag.group.empty() ? "Flags" : flag.group;
    if (heading != group) absl::StrAppend(&text, "\n", heading, ":\n");
    group = heading;
    absl::StrAppend(&text, "  --", flag.name, Argument(flag), flag.repeated ? "  (may be repeated)" : "",
                    "\n", WrappedText(flag.doc, kDocIndent));
  }
  if (!line.examples.empty()) absl::StrAppend(&text, "\nExamples:\n");
  for (const std::string& example : line.examples) absl::StrAppend(&text, "  ", example, "\n");
  return text;
}

}  // namespace ssd
