// Accuracy and loss of runs against epochs, wall time and bytes moved.
#ifndef SSD_DEPLOY_RUN_PAGE_PROGRESS_CHARTS_H_
#define SSD_DEPLOY_RUN_PAGE_PROGRESS_CHARTS_H_

#include <span>
#include <string>

#include "deploy/run/page/run_record.h"

namespace ssd {

// Three charts each, or what is missing in words. Run i has style i. Pure functions.
std::string RenderAccuracyCharts(std::span<const RunRecord> runs);  // on the test set
std::string RenderLossCharts(std::span<const RunRecord> runs);      // in training

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_PAGE_PROGRESS_CHARTS_H_
