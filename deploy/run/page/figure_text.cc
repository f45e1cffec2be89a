#include "deploy/run/page/figure_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "common/config/text_check.h"
#include "deploy/run/display.h"

namespace ssd {
namespace {

constexpr char kReplacement[] = "\uFFFD";

}  // namespace

std::string PercentText(double fraction) {
  return std::isfinite(fraction) ? absl::StrFormat("%.2f %%", 100 * fraction) : kUnknownFigure;
}

std::string NumberText(double value, int decimals) {
  return std::isfinite(value) ? absl::StrFormat("%.*f", decimals, value) : kUnknownFigure;
}

std::string BytesText(double bytes) {
  if (!std::isfinite(bytes)) return kUnknownFigure;
  const char* const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  // 999.5 would be shown as 1000.
  for (; bytes >= 999.5 && unit + 1 < std::size(units); bytes /= 1000) ++unit;
  const int decimals = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return absl::StrFormat("%.*f %s", decimals, bytes, units[unit]);
}

std::string WallTimeText(double seconds) {
  return std::isfinite(seconds) ? RenderDuration(absl::Seconds(seconds)) : kUnknownFigure;
}

std::string MarkupText(absl::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::optional<TextFault> fault = FindTextFault(text, /*multiline=*/false);
    const size_t good = fault.has_value() ? fault->offset : text.size();
    absl::StrAppend(&valid, text.substr(0, good), fault.has_value() ? kReplacement : "");
    text.remove_prefix(std::min(text.size(), good + 1));
  }
  return absl::StrReplaceAll(
      valid, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

}  // namespace ssd
