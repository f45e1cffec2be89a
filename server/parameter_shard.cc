#include "server/parameter_shard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"

namespace ssd {
namespace {

constexpr size_t kPinnedVersions = 2;

MutableBuffer Zeros(BufferPool& pool, size_t size) {
  MutableBuffer zeros = pool.Acquire(size);
  std::fill(zeros.values().begin(), zeros.values().end(), 0.0f);
  return zeros;
}

// The exponent of an infinity or a NaN is all ones. Integers, so that the loop is vectorised.
bool AllFinite(std::span<const float> values) {
  constexpr uint32_t kInfinity = 0x7F800000;
  uint32_t largest = 0;
  for (float value : values) largest = std::max(largest, std::bit_cast<uint32_t>(value) & ~0x80000000u);
  return largest < kInfinity;
}

}  // namespace

ParameterShard::ParameterShard(const Options& options, ModelLayout layout, Partition partition,
                               std::shared_ptr<const SyncSchedule> schedule,
                               std::shared_ptr<const LearningRate> learning_rate, BufferPool* pool)
    : options_(options),
      layout_(std::move(layout)),
      partition_(std::move(partition)),
      schedule_(std::move(schedule)),
      learning_rate_(std::move(learning_rate)),
      pool_(pool) {
  const Aggregator::Options aggregation{.num_workers = options.num_workers,
                                        .deterministic = options.deterministic};
  for (const Block& block : partition_.blocks()) {
    if (block.shard != options.shard) continue;
    BlockState& state = blocks_.emplace(block.id, Aggregator(aggregation, pool)).first->second;
    state.pushed.resize(options.num_workers, Version(0));
  }
}

absl::StatusOr<ParameterShard::BlockState*> ParameterShard::Find(BlockId id) {
  const auto found = blocks_.find(id);
  if (found == blocks_.end()) {
    return absl::NotFoundError(partition_.contains(id.value())
                                   ? absl::StrCat("block ", id.value(), " belongs to shard ",
                                                  partition_.block(id).shard.value(), ", this is shard ",
                                                  options_.shard.value())
                                   : absl::StrCat("block ", id.value(), " of ", partition_.blocks().size()));
  }
  return &found->second;
}

absl::Status ParameterShard::CheckSize(size_t floats) const {
  for (const auto& [id, state] : blocks_) {
    if (static_cast<size_t>(partition_.block(id).size) == floats) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a payload of ", floats, " floats, which no block here has"));
}

absl::Status ParameterShard::SetInitial(BlockId id, Buffer values) {
  ASSIGN_OR_RETURN(BlockState * state, Find(id));
  const Block& block = partition_.block(id);
  if (static_cast<int64_t>(values.size()) != block.size) {
    return absl::InvalidArgumentError(absl::StrCat("initial block ", id.value(), ": got ", values.size(),
                                                   " floats, layout says ", block.size));
  }
  if (state->has_initial) return absl::AlreadyExistsError(absl::StrCat("version 0 of block ", id.value()));
  RETURN_IF_ERROR(CheckFinite(block, values.values(), "version 0", WorkerId(0), Step(0)));
  state->has_initial = true;
  Buffer velocity;
  if (block.kind == Block::Kind::kParameters) velocity = Zeros(*pool_, block.size).Freeze();
  Publish(id, *state, {.version = Version(0), .values = std::move(values), .velocity = std::move(velocity)});
  return absl::OkStatus();
}

absl::StatusOr<StepRange> ParameterShard::RangeOf(const Block& block, Step step) const {
  const auto error = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("block ", block.id.value(), " is not pushed after step ", step.value()));
  };
  if (step < Step(0) || step >= schedule_->end()) return error();
  if (block.kind == Block::Kind::kBuffers) {
    const Version version(step.value() + 1);
    if (!schedule_->IsPulled(version, block.id)) return error();
    return StepRange{Step(schedule_->PulledBefore(version, block.id).value()), step + 1};
  }
  const std::optional<StepRange> range = schedule_->PushAfter(step, block.id);
  if (!range.has_value()) return error();
  return *range;
}

StepRange ParameterShard::RangeAfter(const Block& block, Version version) const {
  for (Step step(version.value());; ++step) {
    if (step + 1 >= schedule_->end()) return {Step(version.value()), schedule_->end()};
    const absl::StatusOr<StepRange> range = RangeOf(block, step);
    if (range.ok()) return *range;
  }
}

absl::Status ParameterShard::CheckFinite(const Block& block, std::span<const float> values,
                                         absl::string_view what, WorkerId worker, Step step) const {
  if (AllFinite(values)) return absl::OkStatus();
  const auto bad =
      std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  const ParameterLayout& layout =
      block.kind == Block::Kind::kParameters ? layout_.parameters : layout_.buffers;
  return absl::DataLossError(absl::StrCat("a value that is not finite (", *bad, ") in ", what, " of ",
                                          layout.TensorAt(block.offset + (bad - values.begin())).name,
                                          " from worker ", worker.value(), " at step ", step.value()));
}

absl::Status ParameterShard::Push(WorkerId worker, BlockId id, Step step, std::optional<Buffer> gradient) {
  ASSIGN_OR_RETURN(BlockState * state, Find(id));
  const Block& block = partition_.block(id);
  ASSIGN_OR_RETURN(const StepRange steps, RangeOf(block, step));
  const auto where = [&] {
    return absl::StrCat("push of block ", id.value(), " by worker ", worker.value(), " after step ",
                        step.value());
  };
  if (gradient.has_value() && static_cast<int64_t>(gradient->size()) != block.size) {
    return absl::InvalidArgumentError(
        absl::StrCat(where(), ": got ", gradient->size(), " floats, layout says ", block.size));
  }
  if (!state->has_initial)
    return absl::OutOfRangeError(absl::StrCat(where(), ": version 0 is not there yet"));
  Version& pushed = state->pushed[worker.value()];
  if (steps.first.value() < pushed.value()) {
    return absl::AlreadyExistsError(
        absl::StrCat(where(), ": it has given version ", pushed.value(), " before"));
  }
  if (steps.first.value() > pushed.value()) {
    return absl::OutOfRangeError(
        absl::StrCat(where(), ": its push for version ", pushed.value() + 1, " is missing"));
  }
  const int64_t lead = steps.end.value() - state->newest.version.value();
  const int64_t allowed = std::max(schedule_->max_open_steps(), steps.size());
  if (lead > allowed) {
    return absl::OutOfRangeError(
        absl::StrCat(where(), ": ", lead, " steps ahead, the schedule allows ", allowed));
  }
  if (gradient.has_value()) {
    const char* what = block.kind == Block::Kind::kParameters ? "the gradient" : "the statistics";
    RETURN_IF_ERROR(CheckFinite(block, gradient->values(), what, worker, step));
  }

  if (block.kind == Block::Kind::kParameters) lead_ = std::max(lead_, lead);
  pushed = Version(steps.end.value());
  state->aggregator.Add(worker, std::move(gradient));
  Advance(block, *state);
  return absl::OkStatus();
}

void ParameterShard::Advance(const Block& block, BlockState& state) {
  while (std::optional<Aggregator::Sum> sum = state.aggregator.TakeComplete()) {
    Publish(block.id, state, Apply(block, state, RangeAfter(block, state.newest.version), *sum));
  }
}

ParameterShard::Snapshot ParameterShard::Apply(const Block& block, const BlockState& state, StepRange steps,
                                               const Aggregator::Sum& sum) {
  Snapshot next{.version = Version(steps.end.value()),
                .values = state.newest.values,
                .velocity = state.newest.velocity};
  if (sum.count == 0) return next;  // everybody skipped: the version rises, weights and velocity stay

  MutableBuffer values = pool_->Acquire(block.size);
  if (block.kind == Block::Kind::kBuffers) {
    const float n = static_cast<float>(sum.count);
    const std::span<const float> from = sum.sum.values();
    for (size_t i = 0; i < from.size(); ++i) values.values()[i] = from[i] / n;
    next.values = std::move(values).Freeze();
    return next;
  }
  MutableBuffer velocity = pool_->Acquire(block.size);
  const OptimizerState optimizer_state{.weights = state.newest.values.values(),
                                       .velocity = state.newest.velocity.values(),
                                       .new_weights = values.values(),
                                       .new_velocity = velocity.values()};
  if (steps.size() == 1) {
    ApplyStep(options_.optimizer, learning_rate_->At(steps.first), sum.sum.values(), sum.count,
              optimizer_state);
  } else {
    std::vector<double> etas;
    for (Step step = steps.first; step < steps.end; ++step) etas.push_back(learning_rate_->At(step));
    ApplyPeriod(options_.optimizer, etas, sum.sum.values(), sum.count, optimizer_state);
  }
  next.values = std::move(values).Freeze();
  next.velocity = std::move(velocity).Freeze();
  return next;
}

void ParameterShard::Publish(BlockId id, BlockState& state, Snapshot snapshot) {
  const Version version = snapshot.version;
  state.newest = std::move(snapshot);
  if (schedule_->IsPulled(version, id)) {
    state.pinned.push_back(state.newest);
    if (state.pinned.size() > kPinnedVersions) state.pinned.pop_front();
  }
  // The callbacks may call in again: take out what is due before calling anybody.
  const auto due = state.parked.upper_bound(version);
  std::vector<PullCallback> ready;
  for (auto it = state.parked.begin(); it != due; ++it) ready.push_back(std::move(it->second));
  state.parked.erase(state.parked.begin(), due);
  parked_pulls_ -= static_cast<int64_t>(ready.size());
  const Snapshot published = state.newest;
  for (PullCallback& done : ready) done(published);
}

bool ParameterShard::MayPush(Step step) const {
  if (!options_.deterministic || step >= schedule_->end()) return true;  // beyond the end: Push refuses it
  const Version complete = CompleteVersion();
  for (const auto& [id, state] : blocks_) {
    const Block& block = partition_.block(id);
    if (block.kind != Block::Kind::kParameters || state.newest.version != complete) continue;
    const StepRange lowest = RangeAfter(block, complete);
    if (lowest.end >= schedule_->end()) return true;
    return step < RangeAfter(block, Version(lowest.end.value())).end;
  }
  return true;
}

absl::Status ParameterShard::Pull(BlockId id, Version version, bool exact, PullCallback done) {
  ASSIGN_OR_RETURN(BlockState * state, Find(id));
  if (version < Version(0) || version > schedule_->last_version() ||
      (exact && !schedule_->IsPulled(version, id))) {
    return absl::OutOfRangeError(absl::StrCat("pull of block ", id.value(), ": version ", version.value(),
                                              " is none that this run pulls (the last is ",
                                              schedule_->last_version().value(), ")"));
  }
  const bool exists = state->has_initial && state->newest.version >= version;
  if (!exists) {
    ++parked_pulls_;
    state->parked.emplace(version, std::move(done));
    return absl::OkStatus();
  }
  if (!exact || state->newest.version == version) {
    done(Snapshot(state->newest));
    return absl::OkStatus();
  }
  for (const Snapshot& snapshot : state->pinned) {
    if (snapshot.version == version) {
      done(Snapshot(snapshot));
      return absl::OkStatus();
    }
  }
  return absl::FailedPreconditionError(absl::StrCat("pull of block ", id.value(), ": version ",
                                                    version.value(), " is no longer held; the newest is ",
                                                    state->newest.version.value()));
}

std::optional<ParameterShard::Snapshot> ParameterShard::Newest(BlockId id) const {
  const BlockState& state = blocks_.at(id);
  if (!state.has_initial) return std::nullopt;
  return state.newest;
}

Version ParameterShard::CompleteVersion() const {
  Version lowest = schedule_->last_version();
  for (const auto& [id, state] : blocks_) {
    if (partition_.block(id).kind == Block::Kind::kParameters)
      lowest = std::min(lowest, state.newest.version);
  }
  return lowest;
}

std::vector<ParameterShard::Straggler> ParameterShard::Stragglers() const {
  const Version complete = CompleteVersion();
  // A worker's statistics come ahead of its gradients. Those of a version that all have given their gradients for do
  // not come any more: whoever waits for them is itself waited for at the steps that follow.
  for (const auto& [id, state] : blocks_) {
    const Block& block = partition_.block(id);
    if (block.kind != Block::Kind::kBuffers || !state.aggregator.under_way()) continue;
    const StepRange steps = RangeAfter(block, state.newest.version);
    if (steps.end.value() > complete.value()) continue;
    std::vector<Straggler> silent;
    for (WorkerId worker : state.aggregator.Missing())
      silent.push_back({.worker = worker, .step = steps.first});
    return silent;
  }
  std::vector<Straggler> stragglers;
  for (const auto& [id, state] : blocks_) {
    if (!state.has_initial && !state.parked.empty()) return {{.worker = WorkerId(0), .step = Step(0)}};
    if (state.newest.version != complete || !state.aggregator.under_way()) continue;
    if (partition_.block(id).kind != Block::Kind::kParameters) continue;
    for (WorkerId worker : state.aggregator.Missing()) {
      const bool known = std::any_of(stragglers.begin(), stragglers.end(),
                                     [worker](const Straggler& other) { return other.worker == worker; });
      if (!known) stragglers.push_back({.worker = worker, .step = Step(complete.value())});
    }
  }
  return stragglers;
}

}  // namespace ssd
