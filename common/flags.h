// A strict command line for the binaries: what is not declared is refused, with a suggestion.
//
//   CommandLine line{
//       .program = "ssd-worker", .usage = "--id N experiment.yaml", .description = "Trains one replica."};
//   line.flags = {{.name = "id", .value = "N", .doc = "Which worker this is, from 0."},
//                 {.name = "set", .value = "KEY=VALUE", .doc = "Changes one option.", .repeated = true},
//                 {.name = "validate_config", .doc = "Checks the file and exits."}};
//   ASSIGN_OR_RETURN(const ParsedFlags flags, ParseFlags(line, argc, argv));
//   if (flags.IsOn("help")) { std::fputs(HelpText(line).c_str(), stdout); return kExitDone; }
//
// Written --flag=value or --flag value (only --flag=value where the value may be left out); a switch (a flag
// without value) is --flag, --flag=true or --flag=false. "--" ends the flags. --help (-h) and --version are there without being declared. Values in
// which only the program sees a mistake are its own to check. Nothing here prints or exits. Pure functions
// and a value type.
#ifndef SSD_COMMON_FLAGS_H_
#define SSD_COMMON_FLAGS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ssd {

struct FlagSpec {
  std::string name;       // without the dashes
  std::string value{};    // what stands for its value in the help: "FILE"; empty: a switch
  std::string doc{};      // sentences
  bool repeated = false;  // may be given several times
  bool optional = false;  // the value may be left out, and is then "": --help_config or --help_config=sync
  std::string group{};    // the heading it stands under in the help; flags of a group are declared together
};

struct CommandLine {
  std::string program;
  std::string usage{};  // what follows the program's name: "[flags] experiment.yaml"
  std::string description{};
  std::vector<FlagSpec> flags{};
  std::vector<std::string> examples{};  // whole command lines, a comment after "  # "
  int max_positional = 0;               // how many arguments that are no flags; -1: any number
};

class ParsedFlags {
 public:
  // Whether the flag was given. REQUIRES, here and below: a declared flag.
  bool Has(const std::string& name) const;
  // A switch's value; false where it was not given.
  bool IsOn(const std::string& name) const;
  // The value, or none. REQUIRES: not a repeated flag.
  std::optional<std::string> Value(const std::string& name) const;
  // All values in their order.
  const std::vector<std::string>& Values(const std::string& name) const;
  // The value as a whole number; none where the flag was not given. InvalidArgument: no such number, or not
  // within [min, max].
  absl::StatusOr<std::optional<int64_t>> Integer(const std::string& name, int64_t min, int64_t max) const;
  // InvalidArgument: flag `name` was given, and so was one of `others`, which has no effect then; names both.
  absl::Status Excludes(const std::string& name, const std::vector<std::string>& others) const;

  const std::vector<std::string>& positional() const { return positional_; }

 private:
  friend class FlagParser;                                  // in flags.cc, which fills it in
  std::map<std::string, std::vector<std::string>> values_;  // every declared flag has an entry
  std::vector<std::string> positional_;
};

// InvalidArgument: an unknown flag, a missing or superfluous value, a flag given twice, too many arguments;
// the message names it. --help and --version end the parsing, so that they work beside whatever follows.
absl::StatusOr<ParsedFlags> ParseFlags(const CommandLine& line, int argc, const char* const* argv);

// What --help prints, at most 100 columns wide where words allow.
std::string HelpText(const CommandLine& line);

}  // namespace ssd

#endif  // SSD_COMMON_FLAGS_H_
