#include "deploy/run/initial_weights.h"

#include "absl/strings/str_cat.h"
#include "common/io/model_file.h"
#include "common/status_macros.h"
#include "deploy/run/run_plan.h"

namespace ssd {

absl::StatusOr<std::vector<std::string>> CheckInitialWeights(const v1::Experiment& experiment, Disk& disk) {
  constexpr size_t kMaxListed = 4;  // of a kind; the workers' logs have more
  const v1::Model& model = experiment.model();
  if (model.weights().empty()) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const ModelOutline outline, OutlineOf(experiment));
  ASSIGN_OR_RETURN(const MatchReport report,
                   CompareModel(disk, model.weights(), outline.layout,
                                model.weights_strict() ? Matching::kStrict : Matching::kPartial));
  std::vector<std::string> lines = {
      absl::StrCat("starts from ", model.weights(), ": ",
                   report.exact() ? absl::StrCat("all ", report.wanted, " tensors") : report.Summary())};
  for (std::string& line : report.Differences(kMaxListed)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace ssd
