#include "server/aggregator.h"

#include <utility>

#include "common/logging.h"

namespace ssd {

void Aggregator::Add(WorkerId worker, std::optional<Buffer> gradient) {
  given_.resize(options_.num_workers, 0);
  const int64_t index = given_[worker.value()]++ - completed_;
  CHECK_GE(index, 0);
  while (static_cast<int64_t>(open_.size()) <= index) {
    Open& fresh = open_.emplace_back();
    fresh.has_answered.resize(options_.num_workers, false);
    if (options_.deterministic) fresh.waiting.resize(options_.num_workers);
  }
  Open& open = open_[index];
  ++open.answered;
  open.has_answered[worker.value()] = true;
  if (!options_.deterministic) {
    if (gradient.has_value()) AddInto(open, *std::move(gradient));
    return;
  }
  open.waiting[worker.value()] = std::move(gradient);
  for (; open.next < options_.num_workers && open.has_answered[open.next]; ++open.next) {
    std::optional<Buffer>& next = open.waiting[open.next];
    if (next.has_value()) AddInto(open, *std::exchange(next, std::nullopt));
  }
}

void Aggregator::AddInto(Open& open, Buffer gradient) {
  ++open.count;
  if (open.count == 1) {
    open.first = std::move(gradient);
    return;
  }
  const std::span<const float> more = gradient.values();
  if (open.count == 2) {
    open.sum = pool_->Acquire(more.size());
    const std::span<const float> first = open.first.values();
    const std::span<float> sum = open.sum.values();
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = first[i] + more[i];
    open.first = Buffer();
    return;
  }
  const std::span<float> sum = open.sum.values();
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

std::optional<Aggregator::Sum> Aggregator::TakeComplete() {
  if (open_.empty() || open_.front().answered < options_.num_workers) return std::nullopt;
  Open& open = open_.front();
  Sum result{.sum = open.count == 1 ? std::move(open.first) : std::move(open.sum).Freeze(),
             .count = open.count};
  open_.pop_front();
  ++completed_;
  return result;
}

std::vector<WorkerId> Aggregator::Missing() const {
  std::vector<WorkerId> missing;
  for (int i = 0; i < options_.num_workers; ++i) {
    if (open_.empty() || !open_.front().has_answered[i]) missing.emplace_back(i);
  }
  return missing;
}

}  // namespace ssd
