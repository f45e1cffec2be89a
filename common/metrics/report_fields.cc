#include "common/metrics/report_fields.h"

#include <cmath>

namespace ssd {
namespace {

using Json = nlohmann::ordered_json;

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

}  // namespace

Json FiniteOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json ReportFields(const v1::Report& sum, int workers) {
  const double samples = static_cast<double>(sum.samples());
  const double worker_steps = static_cast<double>(sum.steps()) * workers;
  const auto per_step = [worker_steps](double seconds) { return FiniteOrNull(Ratio(seconds, worker_steps)); };
  return {{"loss", FiniteOrNull(Ratio(sum.loss_sum(), samples))},
          {"accuracy", Ratio(static_cast<double>(sum.correct()), samples)},
          // Every worker was at it for `seconds` / workers.
          {"samples_per_second", FiniteOrNull(Ratio(samples * workers, sum.seconds()))},
          {"wait_fraction", FiniteOrNull(Ratio(sum.wait_seconds(), sum.seconds()))},
          {"time",
           {{"data", per_step(sum.data_seconds())},
            {"compute", per_step(sum.compute_seconds())},
            {"local_update", per_step(sum.local_update_seconds())},
            {"push", per_step(sum.push_seconds())},
            {"wait", per_step(sum.wait_seconds())}}}};
}

}  // namespace ssd
