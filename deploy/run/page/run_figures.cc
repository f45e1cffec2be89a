#include "deploy/run/page/run_figures.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ssd {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double StepTimes::*kPhases[] = {&StepTimes::data, &StepTimes::compute, &StepTimes::local_update,
                                          &StepTimes::push, &StepTimes::wait};

// A mean of values with weights; unknown ones are left out.
class WeightedMean {
 public:
  void Add(double value, double weight) {
    if (!std::isfinite(value) || !(weight > 0)) return;
    sum_ += value * weight;
    weights_ += weight;
  }
  double value() const { return weights_ > 0 ? sum_ / weights_ : kUnknown; }

 private:
  double sum_ = 0, weights_ = 0;
};

// Later records win where they have a value.
void Keep(double value, double* kept) {
  if (std::isfinite(value) && !(value <= *kept)) *kept = value;
}

}  // namespace

double Sum(const StepTimes& times) {
  double sum = 0;
  for (const auto phase : kPhases) sum += times.*phase;
  return sum;
}

RunFigures FiguresOf(const RunRecord& run) {
  RunFigures figures{.epochs = kUnknown,
                     .train_loss = run.train.empty() ? kUnknown : run.train.back().loss,
                     .wall_seconds = kUnknown,
                     .bytes_pushed = kUnknown,
                     .bytes_pulled = kUnknown};
  const auto reach = [&figures](const auto& record) {
    figures.steps = std::max(figures.steps, record.step);
    Keep(record.epoch, &figures.epochs);
    Keep(record.elapsed, &figures.wall_seconds);
    Keep(record.bytes_pushed, &figures.bytes_pushed);
    Keep(record.bytes_pulled, &figures.bytes_pulled);
  };
  WeightedMean seconds_per_sample, wait, phases[std::size(kPhases)];
  TrainRecord before;
  for (const TrainRecord& record : run.train) {
    reach(record);
    const double samples = static_cast<double>(record.samples - before.samples);
    const double seconds = samples / record.samples_per_second;
    seconds_per_sample.Add(1 / record.samples_per_second, samples);
    wait.Add(record.wait_fraction, std::isfinite(seconds) ? seconds : 0);
    for (size_t i = 0; i < std::size(kPhases); ++i)
      phases[i].Add(record.step_times.*kPhases[i], static_cast<double>(record.step - before.step));
    before = record;
  }
  figures.samples_per_second = 1 / seconds_per_sample.value();
  figures.wait_fraction = wait.value();
  for (size_t i = 0; i < std::size(kPhases); ++i) figures.step_times.*kPhases[i] = phases[i].value();
  for (const TestRecord& record : run.test) {
    reach(record);
    figures.last_test = record;
    if (!figures.best_test.has_value() || record.accuracy > figures.best_test->accuracy)
      figures.best_test = record;
  }
  return figures;
}

}  // namespace ssd
