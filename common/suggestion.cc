#include "common/suggestion.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace ssd {
namespace {

constexpr size_t kMaxWord = 64;

std::string Normalised(absl::string_view word) {
  std::string lower = absl::AsciiStrToLower(word);
  std::replace(lower.begin(), lower.end(), '-', '_');
  return lower;
}

}  // namespace

size_t EditDistance(absl::string_view a, absl::string_view b) {
  // Rows of the table of distances between prefixes ("optimal string alignment"): of a[..i-2], a[..i-1] and
  // a[..i].
  std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({replaced, previous[j] + 1, current[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

std::optional<std::string> Nearest(absl::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kMaxWord) return std::nullopt;
  const std::string wanted = Normalised(word);
  std::optional<std::string> nearest;
  size_t least = 0;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(wanted, Normalised(candidate));
    const bool near = distance * 3 <= std::max(word.size(), candidate.size());
    if (near && (!nearest.has_value() || distance < least)) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}

}  // namespace ssd
