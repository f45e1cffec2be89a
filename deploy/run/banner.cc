#include "deploy/run/banner.h"

#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/version.h"

namespace ssd {
namespace {

// 272474 as 272,474.
std::string WithCommas(int64_t number) {
  std::string text = absl::StrCat(number);
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) text.insert(at, 1, ',');
  return text;
}

std::string Count(int64_t number, absl::string_view noun) {
  return absl::StrCat(WithCommas(number), " ", noun, number == 1 ? "" : "s");
}

std::string Mebibytes(int64_t bytes) {
  return bytes < (10 << 20) ? absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20))
                            : absl::StrCat(WithCommas(bytes >> 20), " MiB");
}

std::string TrainingTimeText(const v1::TrainingTime& time) {
  return time.has_epochs() ? absl::StrFormat("%g epochs", time.epochs()) : Count(time.iterations(), "step");
}

std::string ModelText(const v1::Model& model) {
  const std::string& name = v1::Model::Name_Name(model.name());
  if (model.name() != v1::Model::custom) return name;
  return absl::StrCat(name, " ResNet (", v1::Model::Block_Name(model.block()), " blocks ",
                      absl::StrJoin(model.layers(), ", "), "; width ", model.width(), "; ",
                      v1::Model::Stem_Name(model.stem()), " stem)");
}

std::string Policy(const v1::Experiment& experiment, const RunPlan& plan) {
  const v1::Sync& sync = experiment.sync();
  if (sync.policy() == v1::Sync::ssgd) return "ssgd: pushes and pulls at every step, and waits";
  return absl::StrCat("ssd_sgd: pulls every ", Count(sync.k(), "step"),
                      sync.pull_overlap() == 0 ? "" : " behind the next one", ", pushes ",
                      sync.push() == v1::Sync::every_period ? "as often" : "at every step", ", local update ",
                      v1::LocalUpdate::Kind_Name(sync.local().update()), "; synchronous for the first ",
                      Count(plan.warmup_steps, "step"));
}

std::string TransportName(const v1::Cluster& cluster) {
  if (cluster.addresses().empty()) return "";
  return absl::StartsWith(cluster.addresses(0), "unix:") ? ", over unix sockets" : ", over TCP";
}

std::string Steps(const v1::Experiment& experiment, const RunPlan& plan) {
  std::string text = absl::StrCat(WithCommas(plan.train_samples), " images / ", WithCommas(plan.global_batch),
                                  " = ", absl::StrFormat("%.7g", plan.steps_per_epoch), " an epoch; ");
  const v1::TrainingTime& duration = experiment.training().duration();
  if (!duration.has_epochs()) {
    return absl::StrCat(text, Count(plan.steps, "step"), " = ",
                        absl::StrFormat("%.4g", static_cast<double>(plan.steps) / plan.steps_per_epoch),
                        " epochs");
  }
  const double exact = duration.epochs() * plan.steps_per_epoch;
  const bool is_whole = std::abs(exact - static_cast<double>(plan.steps)) < 1e-6;
  return absl::StrCat(text, TrainingTimeText(duration), " = ", Count(plan.steps, "step"),
                      is_whole ? "" : ", rounded up");
}

}  // namespace

std::string RenderBanner(const v1::Experiment& experiment, const RunPlan& plan,
                         const std::vector<std::string>& weights, const std::string& run_directory) {
  const v1::Cluster& cluster = experiment.cluster();
  const int64_t batch = experiment.training().batch_size();
  const int64_t total_bytes = cluster.workers() * plan.worker_bytes + cluster.servers() * plan.server_bytes;
  std::vector<std::string> lines = {
      absl::StrCat("ssd-sgd ", ProgramVersion(), ": ", experiment.name()),
      absl::StrCat("  model       ", ModelText(experiment.model()), ", ", Count(plan.parameters, "parameter"),
                   " (", Mebibytes(4 * plan.parameters), ")"),
      absl::StrCat("  data        ", v1::Data::Dataset_Name(experiment.data().dataset()), ", ",
                   WithCommas(plan.train_samples), " training and ", WithCommas(plan.test_samples),
                   " test images"),
      absl::StrCat("  policy      ", Policy(experiment, plan)),
      absl::StrCat("  processes   ", Count(cluster.workers(), "worker"), " of ",
                   Count(plan.threads, "thread"), ", ", Count(cluster.servers(), "server"),
                   TransportName(cluster)),
      absl::StrCat("  batch       ", WithCommas(batch), " a worker x ", Count(cluster.workers(), "worker"),
                   " = ", WithCommas(plan.global_batch), " (batch norm sees ", WithCommas(batch), ")"),
      absl::StrCat("  steps       ", Steps(experiment, plan)),
      absl::StrCat("  memory      about ", Mebibytes(total_bytes), ": ", Count(cluster.workers(), "worker"),
                   " of ", Mebibytes(plan.worker_bytes), ", ", Count(cluster.servers(), "server"), " of ",
                   Mebibytes(plan.server_bytes)),
      absl::StrCat("  run folder  ", run_directory)};
  for (size_t i = 0; i < weights.size(); ++i) {
    lines.insert(lines.begin() + 2 + static_cast<std::ptrdiff_t>(i),
                 absl::StrCat(i == 0 ? "  weights     " : "              ", weights[i]));
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace ssd
