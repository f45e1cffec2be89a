// What a run is about, for people, before it starts.
#ifndef SSD_DEPLOY_RUN_BANNER_H_
#define SSD_DEPLOY_RUN_BANNER_H_

#include <string>
#include <vector>

#include "deploy/run/run_plan.h"
#include "ssd/v1/experiment.pb.h"

namespace ssd {

// Several lines without the last line's end; every number that follows from others shows how. A pure
// function. `experiment` has its addresses; `weights` are the lines of CheckInitialWeights.
std::string RenderBanner(const v1::Experiment& experiment, const RunPlan& plan,
                         const std::vector<std::string>& weights, const std::string& run_directory);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_BANNER_H_
