#include "server/run_log.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"

namespace ssd {
namespace {

using Json = nlohmann::ordered_json;

// JSON knows no NaN and no infinity.
Json Finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

}  // namespace

RunLog::RunLog(Clock& clock, Disk& disk, std::string path)
    : clock_(clock), disk_(disk), path_(std::move(path)) {}

std::string RunLog::Timestamp() const {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3S%Ez", clock_.Wall(), absl::LocalTimeZone());
}

absl::Status RunLog::Append(const std::string& line) {
  if (path_.empty()) return absl::OkStatus();
  if (file_ == nullptr) {
    ASSIGN_OR_RETURN(file_, disk_.Create(path_));
  }
  return file_->Append(line + "\n");
}

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
      {"ts", Timestamp()},
      {"split", "start"},
      {"steps", plan.schedule.total_steps},
      {"steps_per_epoch", plan.steps_per_epoch},
      {"samples_per_epoch", hello.samples_per_epoch()},
      {"global_batch", std::llround(static_cast<double>(hello.samples_per_epoch()) / plan.steps_per_epoch)},
      {"workers", workers},
      {"parameters", parameters}};
  return Append(line.dump());
}

absl::Status RunLog::OnReport(const v1::Report& sum, int workers, int64_t lead) {
  const double samples = static_cast<double>(sum.samples());
  const double worker_steps = static_cast<double>(sum.steps()) * workers;
  samples_ += static_cast<int64_t>(sum.samples());
  bytes_pushed_ += sum.bytes_pushed();
  bytes_pulled_ += sum.bytes_pulled();
  const double loss = Ratio(sum.loss_sum(), samples);
  const double accuracy = Ratio(static_cast<double>(sum.correct()), samples);
  // Every worker was at it for `seconds` / workers.
  const double speed = Ratio(samples * workers, sum.seconds());
  const double waiting = Ratio(sum.wait_seconds(), sum.seconds());
  const auto per_step = [worker_steps](double seconds) { return Ratio(seconds, worker_steps); };
  LOG(INFO) << "train step=" << sum.step() << " loss=" << loss << " accuracy=" << accuracy
            << " samples_per_second=" << speed << " wait=" << waiting;
  Json line = {{"ts", Timestamp()},
               {"split", "train"},
               {"elapsed", Elapsed()},
               {"step", sum.step()},
               {"epoch", Epoch(sum.step())},
               {"loss", Finite(loss)},
               {"accuracy", accuracy},
               {"lr", learning_rate_->At(Step(static_cast<int64_t>(sum.step()) - 1))},
               {"samples", samples_},
               {"samples_per_second", speed},
               {"wait_fraction", waiting},
               {"lead", lead},
               {"bytes_pushed", bytes_pushed_},
               {"bytes_pulled", bytes_pulled_},
               {"time",
                {{"data", per_step(sum.data_seconds())},
                 {"compute", per_step(sum.compute_seconds())},
                 {"local_update", per_step(sum.local_update_seconds())},
                 {"push", per_step(sum.push_seconds())},
                 {"wait", per_step(sum.wait_seconds())}}}};
  return Append(line.dump());
}

absl::Status RunLog::OnEvaluation(const v1::Evaluated& sum) {
  const double total = static_cast<double>(sum.samples());
  const double loss = Ratio(sum.loss_sum(), total);
  const double accuracy = Ratio(static_cast<double>(sum.correct()), total);
  LOG(INFO) << "test version=" << sum.version() << " loss=" << loss << " accuracy=" << accuracy;
  Json line = {{"ts", Timestamp()},
               {"split", "test"},
               {"elapsed", Elapsed()},
               {"step", sum.version()},
               {"epoch", Epoch(sum.version())},
               {"loss", Finite(loss)},
               {"accuracy", accuracy},
               {"correct", sum.correct()},
               {"total", sum.samples()},
               {"bytes_pushed", bytes_pushed_},
               {"bytes_pulled", bytes_pulled_}};
  return Append(line.dump());
}

}  // namespace ssd
