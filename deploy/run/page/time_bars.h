// Where the time of a step goes: a stacked bar a run, as inline SVG.
#ifndef SSD_DEPLOY_RUN_PAGE_TIME_BARS_H_
#define SSD_DEPLOY_RUN_PAGE_TIME_BARS_H_

#include <string>
#include <vector>

#include "deploy/run/metrics_tail.h"

namespace ssd {

struct TimePhase {
  const char* name;  // "local update"
  double StepTimes::*seconds;
};
// In the order in which they are stacked.
const std::vector<TimePhase>& TimePhases();

struct TimeBar {
  std::string name;
  StepTimes times;
};

// All bars are in one scale. The phases differ by hatching as well as by colour. A pure function.
std::string RenderTimeBars(const std::vector<TimeBar>& bars);

// The hatchings' <defs>, needed once in a page.
std::string TimePatterns();
// A field of the phase's hatching, for legends: an <svg>.
std::string PhaseKey(size_t phase);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_PAGE_TIME_BARS_H_
