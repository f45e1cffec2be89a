// Numbers and names as the report's page shows them.
#ifndef SSD_DEPLOY_RUN_PAGE_FIGURE_TEXT_H_
#define SSD_DEPLOY_RUN_PAGE_FIGURE_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ssd {

// What stands for a number that is not known (NaN): an en dash.
inline constexpr char kUnknownFigure[] = "\u2013";

// Pure functions.

// 0.8052 is 80.52 %
std::string PercentText(double fraction);
// With `decimals` of them.
std::string NumberText(double value, int decimals);
// 1234567 is 1.23 MB: decimal units, three digits.
std::string BytesText(double bytes);
// 08:11, or 1:08:11 from an hour on.
std::string WallTimeText(double seconds);

// The text for HTML and XML, in content and in quoted attributes: & < > and quotes as entities, and whatever
// is no UTF-8 or a control character as U+FFFD.
std::string MarkupText(absl::string_view text);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_PAGE_FIGURE_TEXT_H_
