// Runs beside each other on one page of HTML, which needs nothing else: no network, no script, no other file.
//
// Accuracy and loss against epochs, wall time and bytes; where the time of a step goes; the options in which
// the runs differ; and every evaluation as numbers. All figures are those of metrics.jsonl, or follow from
// them as run_figures.h says. The page reads in colour and without, on paper, on a phone, and in the dark.
#ifndef SSD_DEPLOY_RUN_PAGE_REPORT_PAGE_H_
#define SSD_DEPLOY_RUN_PAGE_REPORT_PAGE_H_

#include <span>
#include <string>

#include "deploy/run/page/run_record.h"

namespace ssd {

// Well-formed as XML, too. The same runs give the same page. A pure function. REQUIRES: at least one run.
std::string RenderReportPage(std::span<const RunRecord> runs);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_PAGE_REPORT_PAGE_H_
