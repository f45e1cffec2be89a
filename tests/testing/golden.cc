#include "tests/testing/golden.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/logging.h"
#include "tests/testing/deterministic.h"

namespace ssd::testing {
namespace {

using Kind = LocalUpdateOptions::Kind;
const std::map<std::string, Kind> kKinds = {
    {"sgd", Kind::kSgd},
    {"glu", Kind::kGlu},
    {"momentum", Kind::kMomentum},
    {"glu_velocity", Kind::kGluVelocity},
    {"glu_momentum", Kind::kGluMomentum},
    {"glu_prototype", Kind::kGluPrototype},
    {"dc_local", Kind::kDcLocal},
};

Golden Read(const nlohmann::json& run) {
  const nlohmann::json& c = run.at("config");
  Golden golden;
  golden.name = c.at("name");
  golden.policy = c.at("policy");
  golden.local_update = c.at("local_update");
  golden.workers = c.at("workers");
  golden.size = c.at("size");
  golden.offset = c.at("offset");
  golden.start = run.at("start").get<std::vector<double>>();
  for (const nlohmann::json& step : run.at("trace")) {
    golden.weights.push_back(step.at("weights").get<std::vector<double>>());
    golden.local.push_back(step.at("local").get<std::vector<std::vector<double>>>());
  }
  golden.schedule = {.policy = golden.policy == "ssgd" ? SyncScheduleOptions::Policy::kSsgd
                                                       : SyncScheduleOptions::Policy::kSsdSgd,
                     .k = c.at("k"),
                     .warmup_steps = c.at("warmup_steps"),
                     .pull_overlap = c.at("pull_overlap"),
                     .push = c.at("push") == "every_period" ? SyncScheduleOptions::Push::kEveryPeriod
                                                            : SyncScheduleOptions::Push::kEveryStep,
                     .total_steps = c.at("steps")};
  golden.learning_rate = {.base = c.at("lr"),
                          .schedule = LearningRateOptions::Schedule::kStep,
                          .milestones = {Step(c.at("lr_drop_step"))},
                          .gamma = 0.1,
                          .total_steps = c.at("steps")};
  golden.optimizer = {
      .momentum = c.at("momentum"), .weight_decay = c.at("weight_decay"), .nesterov = c.at("nesterov")};
  golden.update = {.alpha = c.at("alpha").get<double>(),
                   .beta = c.at("beta"),
                   .dc_lambda = c.at("dc_lambda"),
                   .momentum = c.at("momentum"),
                   .weight_decay = c.at("weight_decay"),
                   .nesterov = c.at("nesterov"),
                   .local_lr_scale = c.at("local_lr_scale")};
  golden.update.kind = kKinds.at(golden.local_update);
  return golden;
}

}  // namespace

const std::map<std::string, Golden>& AllGolden() {
  static const auto& all = *new std::map<std::string, Golden>([] {
    std::ifstream file(SSD_SOURCE_DIR "/tests/fixtures/golden.json");
    CHECK(file.good()) << "tests/fixtures/golden.json";
    std::map<std::string, Golden> result;
    for (const nlohmann::json& run : nlohmann::json::parse(file)) {
      Golden golden = Read(run);
      result.emplace(golden.name, std::move(golden));
    }
    return result;
  }());
  return all;
}

QuadraticModel::QuadraticModel(const Golden& golden, int worker)
    : worker_(worker),
      parameters_(golden.start.begin(), golden.start.end()),
      curvature_(Deterministic("curvature", golden.size)),
      centre_(Deterministic("centre/" + std::to_string(worker), golden.size)) {
  for (int i = 0; i < golden.size; ++i) layout_.parameters.Add("coordinate" + std::to_string(i), {1});
}

void QuadraticModel::Train(const Batch&, std::span<float> gradient, GradientReady ready,
                           TrainingDone done) {
  gradient_ = gradient;
  const std::vector<double> noise =
      Deterministic("noise/" + std::to_string(worker_) + "/" + std::to_string(step_++), parameters_.size());
  for (int64_t i = static_cast<int64_t>(parameters_.size()) - 1; i >= 0; --i) {
    const double curvature = 1.0 + 0.5 * curvature_[i];
    gradient[i] = static_cast<float>(curvature * (parameters_[i] - centre_[i]) + 0.3 * noise[i]);
    ready(i);
  }
  done({.loss = 1, .correct = 0, .samples = 1});
}

BatchResult QuadraticModel::Evaluate(const Batch&, std::span<const float>) { return {}; }

double RelativeError(const std::vector<double>& a, const std::vector<double>& b) {
  CHECK_EQ(a.size(), b.size());
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference) / std::sqrt(norm);
}

}  // namespace ssd::testing
