#include "server/coordinator.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ssd {
namespace {

// How many sums may wait that a worker has given its part of. More than it can be ahead of another: the lead is at most
// k + 1 steps, and k at most 1000.
constexpr int64_t kMaxOpenSums = 2048;

// Sums are written as JSON, which has no other numbers.
absl::Status CheckNumbers(std::initializer_list<double> numbers) {
  for (const double number : numbers) {
    if (!std::isfinite(number)) return absl::InvalidArgumentError(absl::StrCat("a report of ", number));
  }
  return absl::OkStatus();
}

// Without fields of other versions, which can be large and which nobody asks for.
template <typename Message>
Message Known(Message message) {
  message.DiscardUnknownFields();
  return message;
}

}  // namespace

template <typename Message>
absl::StatusOr<Coordinator::Parts<Message>> Coordinator::Complete(std::map<uint64_t, Parts<Message>>& open,
                                                                  uint64_t key, WorkerId worker,
                                                                  Message part) {
  // Each worker's own are counted, so that one that reports what no other does is in nobody's way but its own.
  const auto waiting = [&open, worker] {
    return std::count_if(open.begin(), open.end(),
                         [worker](const auto& sum) { return sum.second.contains(worker); });
  };
  if (static_cast<int64_t>(open.size()) >= kMaxOpenSums && waiting() >= kMaxOpenSums) {
    return absl::InvalidArgumentError(absl::StrCat("worker ", worker.value(), " reports ", key, ": ",
                                                   kMaxOpenSums, " others wait for the other workers"));
  }
  Parts<Message>& parts = open[key];
  if (!parts.emplace(worker, std::move(part)).second) {
    return absl::InvalidArgumentError(
        absl::StrCat("worker ", worker.value(), " has reported ", key, " before"));
  }
  if (static_cast<int>(parts.size()) < num_workers_) return Parts<Message>();
  Parts<Message> complete = std::move(parts);
  open.erase(key);
  return complete;
}

absl::Status Coordinator::Add(WorkerId worker, const v1::Report& report, int64_t lead) {
  RETURN_IF_ERROR(
      CheckNumbers({report.loss_sum(), report.seconds(), report.data_seconds(), report.compute_seconds(),
                    report.local_update_seconds(), report.push_seconds(), report.wait_seconds()}));
  ASSIGN_OR_RETURN(const Parts<Reported> parts,
                   Complete(reports_, report.step(), worker, Reported{Known(report), lead}));
  if (parts.empty()) return absl::OkStatus();
  v1::Report sum;
  sum.set_step(report.step());
  sum.set_steps(report.steps());
  int64_t largest_lead = 0;
  for (const auto& [from, reported] : parts) {
    const v1::Report& part = reported.report;
    largest_lead = std::max(largest_lead, reported.lead);
    sum.set_loss_sum(sum.loss_sum() + part.loss_sum());
    sum.set_correct(sum.correct() + part.correct());
    sum.set_samples(sum.samples() + part.samples());
    sum.set_seconds(sum.seconds() + part.seconds());
    sum.set_data_seconds(sum.data_seconds() + part.data_seconds());
    sum.set_compute_seconds(sum.compute_seconds() + part.compute_seconds());
    sum.set_local_update_seconds(sum.local_update_seconds() + part.local_update_seconds());
    sum.set_push_seconds(sum.push_seconds() + part.push_seconds());
    sum.set_wait_seconds(sum.wait_seconds() + part.wait_seconds());
    sum.set_bytes_pushed(sum.bytes_pushed() + part.bytes_pushed());
    sum.set_bytes_pulled(sum.bytes_pulled() + part.bytes_pulled());
  }
  return observer_.OnReport(sum, num_workers_, largest_lead);
}

absl::Status Coordinator::Add(WorkerId worker, const v1::Evaluated& evaluated) {
  RETURN_IF_ERROR(CheckNumbers({evaluated.loss_sum()}));
  ASSIGN_OR_RETURN(const Parts<v1::Evaluated> parts,
                   Complete(evaluations_, evaluated.version(), worker, Known(evaluated)));
  if (parts.empty()) return absl::OkStatus();
  v1::Evaluated sum;
  sum.set_version(evaluated.version());
  for (const auto& [from, part] : parts) {
    sum.set_loss_sum(sum.loss_sum() + part.loss_sum());
    sum.set_correct(sum.correct() + part.correct());
    sum.set_samples(sum.samples() + part.samples());
  }
  return observer_.OnEvaluation(sum);
}

}  // namespace ssd
