// One option's value: from text to its field, and back. Pure functions.
//
//   a number      0.1  1e-4  -3             never 010 (octal to some), +1, 0x10, nan, inf or "1" in quotes
//   seconds       30s  500ms  5m  2h        (UNIT_SECONDS)
//   bytes         4096  64KiB  1MiB  1GiB   (UNIT_BYTES)
//   TrainingTime  10ep  2.5ep  500it        epochs, or steps of the whole cluster
//   bool          true  false               never yes, no, on, off
//   auto          leaves the field absent   (rules.auto)
#ifndef SSD_COMMON_CONFIG_VALUE_H_
#define SSD_COMMON_CONFIG_VALUE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/config/schema.h"

namespace ssd {

// No run is longer; so the arithmetic on steps cannot overflow.
constexpr int64_t kMaxEpochs = 1'000'000;
constexpr int64_t kMaxIterations = 1'000'000'000'000;

// Sets the option's field in `parent`, or adds one element to it if it is a list. InvalidArgument: the
// message says what was seen and what is wanted, but not for which option; the field is then as it was.
absl::Status ParseValue(const Option& option, const std::string& text, bool quoted,
                        google::protobuf::Message* parent);

// What the option takes: "a number above 0 and at most 1000". For a list: what each element is.
std::string WantedValue(const Option& option);

// The range alone: "above 0 and at most 1000"; empty where there is none.
std::string AllowedRange(const Option& option);

// The field's value as it would be written in a file, a list as [a, b]; parsing it again gives the same
// value, bit for bit.
std::string FormatValue(const Option& option, const google::protobuf::Message& parent);

// The shortest text that std::from_chars reads back as the same number.
std::string FormatNumber(double number);

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_VALUE_H_
