// "Did you mean ...?": the nearest of a list of names to one that a person mistyped. Pure functions.
#ifndef SSD_COMMON_SUGGESTION_H_
#define SSD_COMMON_SUGGESTION_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ssd {

// How many single changes lead from `a` to `b`: a character inserted, left out or replaced, or two neighbours
// swapped. Time and memory grow with the product of the lengths.
size_t EditDistance(absl::string_view a, absl::string_view b);

// The candidate nearest to `word`, the first among equals; none where even that one differs in more than a
// third of its characters. Upper and lower case are alike, and so are - and _. Words longer than 64
// characters resemble nothing.
std::optional<std::string> Nearest(absl::string_view word, const std::vector<std::string>& candidates);

}  // namespace ssd

#endif  // SSD_COMMON_SUGGESTION_H_
