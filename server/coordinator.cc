#include "server/coordinator.h"

#include <cmath>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ssd {
namespace {

// More than a worker can be ahead of another: the lead is at most k + 1 steps, and k at most 1000.
constexpr size_t kMaxOpenSums = 2048;

// Sums are written as JSON, which has no other numbers.
absl::Status CheckNumbers(std::initializer_list<double> numbers) {
  for (const double number : numbers) {
    if (!std::isfinite(number)) return absl::InvalidArgumentError(absl::StrCat("a report of ", number));
  }
  return absl::OkStatus();
}

}  // namespace

template <typename Message>
absl::StatusOr<Message*> Coordinator::AddTo(std::map<uint64_t, Sum<Message>>& sums, uint64_t key,
                                            WorkerId worker) {
  if (sums.size() >= kMaxOpenSums && !sums.contains(key)) {
    return absl::InvalidArgumentError(absl::StrCat("worker ", worker.value(), " reports ", key, ": ",
                                                   sums.size(), " others wait for the other workers"));
  }
  Sum<Message>& sum = sums[key];
  sum.given.resize(num_workers_, false);
  if (sum.given[worker.value()]) {
    return absl::InvalidArgumentError(
        absl::StrCat("worker ", worker.value(), " has reported ", key, " before"));
  }
  sum.given[worker.value()] = true;
  ++sum.count;
  return &sum.total;
}

absl::Status Coordinator::Add(WorkerId worker, const v1::Report& report) {
  RETURN_IF_ERROR(
      CheckNumbers({report.loss_sum(), report.seconds(), report.data_seconds(), report.compute_seconds(),
                    report.local_update_seconds(), report.push_seconds(), report.wait_seconds()}));
  ASSIGN_OR_RETURN(v1::Report * total, AddTo(reports_, report.step(), worker));
  total->set_step(report.step());
  total->set_steps(report.steps());
  total->set_loss_sum(total->loss_sum() + report.loss_sum());
  total->set_correct(total->correct() + report.correct());
  total->set_samples(total->samples() + report.samples());
  total->set_seconds(total->seconds() + report.seconds());
  total->set_data_seconds(total->data_seconds() + report.data_seconds());
  total->set_compute_seconds(total->compute_seconds() + report.compute_seconds());
  total->set_local_update_seconds(total->local_update_seconds() + report.local_update_seconds());
  total->set_push_seconds(total->push_seconds() + report.push_seconds());
  total->set_wait_seconds(total->wait_seconds() + report.wait_seconds());
  if (reports_[report.step()].count < num_workers_) return absl::OkStatus();
  const v1::Report sum = *total;
  reports_.erase(report.step());
  return observer_.OnReport(sum, num_workers_);
}

absl::Status Coordinator::Add(WorkerId worker, const v1::Evaluated& evaluated) {
  RETURN_IF_ERROR(CheckNumbers({evaluated.loss_sum()}));
  ASSIGN_OR_RETURN(v1::Evaluated * total, AddTo(evaluations_, evaluated.version(), worker));
  total->set_version(evaluated.version());
  total->set_loss_sum(total->loss_sum() + evaluated.loss_sum());
  total->set_correct(total->correct() + evaluated.correct());
  total->set_samples(total->samples() + evaluated.samples());
  if (evaluations_[evaluated.version()].count < num_workers_) return absl::OkStatus();
  const v1::Evaluated sum = *total;
  evaluations_.erase(evaluated.version());
  return observer_.OnEvaluation(sum);
}

}  // namespace ssd
