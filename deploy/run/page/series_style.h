// How the runs of a page are told apart: by colour, by dashes and by markers, so that any one of them can be
// missing.
#ifndef SSD_DEPLOY_RUN_PAGE_SERIES_STYLE_H_
#define SSD_DEPLOY_RUN_PAGE_SERIES_STYLE_H_

#include <string>

namespace ssd {

// Of the run with this number, from 0; no two of the first 280 have all three in common. Pure functions.
std::string ColourClass(int series);  // "c0": a class of style.css
std::string DashPattern(int series);  // of stroke-dasharray; "none" for a solid line
std::string MarkerId(int series);     // "m0": of a symbol in MarkerSymbols, centred at the origin

// The markers' <defs>, needed once in a page.
std::string MarkerSymbols();
// A piece of the run's line with its marker, for legends: an <svg>.
std::string SeriesKey(int series);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_PAGE_SERIES_STYLE_H_
