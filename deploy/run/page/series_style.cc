#include "deploy/run/page/series_style.h"

#include <iterator>

#include "absl/strings/str_cat.h"

namespace ssd {
namespace {

constexpr int kColours = 8;  // as in style.css
constexpr const char* kDashes[] = {"none", "7 3", "2 3", "9 3 2 3", "14 4"};
// The hollow ones are filled with the page's background, so that lines do not show through.
constexpr const char* kMarkers[] = {
    "<circle r=\"3.2\" class=\"solid\"/>",
    "<rect x=\"-3.2\" y=\"-3.2\" width=\"6.4\" height=\"6.4\" class=\"hollow\"/>",
    "<path d=\"M0 -4.2L4 3H-4Z\" class=\"solid\"/>",
    "<path d=\"M0 -4.4L4.4 0L0 4.4L-4.4 0Z\" class=\"hollow\"/>",
    "<path d=\"M-3.2 -3.2L3.2 3.2M-3.2 3.2L3.2 -3.2\" class=\"stroke\"/>",
    "<circle r=\"3.4\" class=\"hollow\"/>",
    "<path d=\"M0 -4V4M-4 0H4\" class=\"stroke\"/>",
};

}  // namespace

std::string ColourClass(int series) { return absl::StrCat("c", series % kColours); }

std::string DashPattern(int series) { return kDashes[series % std::size(kDashes)]; }

std::string MarkerId(int series) { return absl::StrCat("m", series % std::size(kMarkers)); }

std::string MarkerSymbols() {
  std::string symbols = "<svg width=\"0\" height=\"0\" class=\"definitions\" aria-hidden=\"true\"><defs>\n";
  for (size_t i = 0; i < std::size(kMarkers); ++i) {
    absl::StrAppend(&symbols, "<g id=\"m", i, "\">", kMarkers[i], "</g>\n");
  }
  return absl::StrCat(symbols, "</defs></svg>\n");
}

std::string SeriesKey(int series) {
  return absl::StrCat("<svg class=\"key ", ColourClass(series),
                      "\" viewBox=\"0 0 40 12\" aria-hidden=\"true\"><path class=\"line\" d=\"M1 6H39\" "
                      "stroke-dasharray=\"",
                      DashPattern(series), "\"/><use href=\"#", MarkerId(series),
                      "\" x=\"20\" y=\"6\"/></svg>");
}

}  // namespace ssd
