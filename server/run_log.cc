#include "server/run_log.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/logging.h"
#include "common/metrics/report_fields.h"

namespace ssd {
namespace {

using Json = nlohmann::ordered_json;

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

// For the log.
double ToDouble(const Json& value) { return value.is_number() ? value.get<double>() : NAN; }

}  // namespace

RunLog::RunLog(Clock& clock, Disk& disk, MetricsLog::Options files)
    : clock_(clock), metrics_(clock, disk, std::move(files)) {}

absl::Status RunLog::OnStart(const v1::Hello& hello, const TrainingPlan& plan, int workers) {
  plan_ = plan;
  started_ = clock_.Steady();
  learning_rate_ = std::make_unique<LearningRate>(plan.learning_rate);
  int64_t parameters = 0;
  for (const v1::Hello::Tensor& tensor : hello.parameters()) {
    int64_t size = 1;
    for (const uint64_t dimension : tensor.shape()) size *= static_cast<int64_t>(dimension);
    parameters += size;
  }
  LOG(INFO) << "run starts workers=" << workers << " parameters=" << parameters
            << " steps=" << plan.schedule.total_steps;
  Json line = {
      {"split", "start"},
      {"steps", plan.schedule.total_steps},
      {"steps_per_epoch", plan.steps_per_epoch},
      {"samples_per_epoch", hello.samples_per_epoch()},
      {"global_batch", std::llround(static_cast<double>(hello.samples_per_epoch()) / plan.steps_per_epoch)},
      {"workers", workers},
      {"parameters", parameters}};
  return metrics_.Write(line, 0);
}

absl::Status RunLog::OnReport(const v1::Report& sum, int workers, int64_t lead) {
  samples_ += static_cast<int64_t>(sum.samples());
  bytes_pushed_ += sum.bytes_pushed();
  bytes_pulled_ += sum.bytes_pulled();
  const Json means = ReportFields(sum, workers);
  LOG(INFO) << "train step=" << sum.step() << " loss=" << ToDouble(means["loss"])
            << " accuracy=" << ToDouble(means["accuracy"])
            << " samples_per_second=" << ToDouble(means["samples_per_second"])
            << " wait=" << ToDouble(means["wait_fraction"]);
  Json line = {{"split", "train"},
               {"elapsed", Elapsed()},
               {"step", sum.step()},
               {"epoch", Epoch(sum.step())},
               {"lr", learning_rate_->At(Step(static_cast<int64_t>(sum.step()) - 1))},
               {"samples", samples_},
               {"lead", lead},
               {"bytes_pushed", bytes_pushed_},
               {"bytes_pulled", bytes_pulled_}};
  line.update(means);
  return metrics_.Write(line, static_cast<int64_t>(sum.step()));
}

absl::Status RunLog::OnEvaluation(const v1::Evaluated& sum) {
  const double total = static_cast<double>(sum.samples());
  const double loss = Ratio(sum.loss_sum(), total);
  const double accuracy = Ratio(static_cast<double>(sum.correct()), total);
  LOG(INFO) << "test version=" << sum.version() << " loss=" << loss << " accuracy=" << accuracy;
  Json line = {{"split", "test"},
               {"elapsed", Elapsed()},
               {"step", sum.version()},
               {"epoch", Epoch(sum.version())},
               {"loss", FiniteOrNull(loss)},
               {"accuracy", accuracy},
               {"correct", sum.correct()},
               {"total", sum.samples()},
               {"bytes_pushed", bytes_pushed_},
               {"bytes_pulled", bytes_pulled_}};
  return metrics_.Write(line, static_cast<int64_t>(sum.version()));
}

}  // namespace ssd
