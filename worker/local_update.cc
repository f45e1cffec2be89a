#include "worker/local_update.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/logging.h"

namespace ssd {
namespace {

using Kind = LocalUpdateOptions::Kind;

double ResolveAlpha(const LocalUpdateOptions& options) {
  if (options.alpha.has_value()) return *options.alpha;
  return options.kind == Kind::kGlu ? (1 - options.beta) / (1 - options.momentum) : 1;
}

bool HasOwnVelocity(Kind kind) { return kind == Kind::kMomentum || kind == Kind::kGluVelocity; }

// Whether a pull gives it G.
bool UsesDifference(Kind kind) { return kind == Kind::kGlu || kind == Kind::kGluMomentum; }

}  // namespace

LocalUpdate::LocalUpdate(const LocalUpdateOptions& options, const Partition& partition,
                         std::shared_ptr<const SyncSchedule> schedule,
                         std::shared_ptr<const LearningRate> learning_rate, DeviceMemory& memory)
    : options_(options),
      alpha_(ResolveAlpha(options)),
      schedule_(std::move(schedule)),
      learning_rate_(std::move(learning_rate)),
      memory_(memory),
      blocks_(partition.num_parameter_blocks()) {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const int64_t size = partition.blocks()[i].size;
    if (options.kind == Kind::kGlu) blocks_[i].global_gradient = memory.Allocate(size);
    if (HasOwnVelocity(options.kind) || options.kind == Kind::kGluMomentum) {
      blocks_[i].velocity = memory.Allocate(size);
    }
    if (options.kind == Kind::kGluPrototype) blocks_[i].snapshot = memory.Allocate(size);
  }
}

double LocalUpdate::LocalRate(Step step) const { return learning_rate_->At(step) * options_.local_lr_scale; }

LocalStep LocalUpdate::Numbers(Step step) const {
  return {.rate = static_cast<float>(LocalRate(step)),
          .alpha = static_cast<float>(alpha_),
          .beta = static_cast<float>(options_.beta),
          .mu = static_cast<float>(options_.momentum),
          .lambda = static_cast<float>(options_.weight_decay),
          .dc_lambda = static_cast<float>(options_.dc_lambda),
          .nesterov = options_.nesterov};
}

float LocalUpdate::InversePassed(Version from, Version to) const {
  double passed = 0;
  for (Step step(from.value()); step < Step(to.value()); ++step) passed += LocalRate(step);
  return passed > std::numeric_limits<float>::min() ? static_cast<float>(1 / passed) : 0;
}

void LocalUpdate::AfterSynchronousGradient(BlockId block, std::span<const float> x,
                                           std::span<const float> g) {
  if (!HasOwnVelocity(options_.kind)) return;
  // Of a step's numbers only the rate depends on the step, and it does not enter here.
  memory_.passes().Accumulate(Numbers(Step(0)), g, x, blocks_[block.value()].velocity->values());
}

void LocalUpdate::Apply(BlockId block, Step step, std::span<const float> g, std::span<float> x) {
  BlockState& state = blocks_[block.value()];
  const LocalStep numbers = Numbers(step);
  LocalUpdatePasses& passes = memory_.passes();
  switch (options_.kind) {
    case Kind::kSgd:
      return passes.Sgd(numbers, g, x);
    case Kind::kGlu:
      return passes.Glu(numbers, g, state.global_gradient->values(), x);
    case Kind::kMomentum:
    case Kind::kGluVelocity:
      return passes.Momentum(numbers, g, state.velocity->values(), x);
    case Kind::kGluMomentum:
      return passes.GluMomentum(numbers, g, state.velocity->values(), x);
    case Kind::kGluPrototype: {
      const bool renew = ++state.updates == schedule_->options().k;
      if (renew) state.updates = 0;
      return passes.GluPrototype(numbers, renew, g, state.snapshot->values(), x);
    }
    case Kind::kDcLocal:
      return passes.DcLocal(numbers, g, state.last_pulled.values(), x);
  }
}

void LocalUpdate::Install(BlockId block, Version version, Buffer values, std::span<float> x) {
  CHECK_EQ(values.size(), x.size());
  BlockState& state = blocks_[block.value()];
  const std::span<const float> pulled = values.values();
  const int64_t warmup = schedule_->options().warmup_steps;
  // Of the warm-up's versions only its last one and the one at which G's first interval begins matter.
  const bool begins_g = version.value() == warmup - std::min(schedule_->options().k, warmup);
  const bool is_kept = version.value() >= warmup || begins_g;
  const bool renews = UsesDifference(options_.kind) ? version.value() >= warmup && !state.last_pulled.empty()
                                                    : version.value() > warmup;
  const float inverse = renews ? InversePassed(state.last_version, version) : 0;
  if (inverse != 0 && UsesDifference(options_.kind)) {
    const DeviceArray& to = options_.kind == Kind::kGlu ? *state.global_gradient : *state.velocity;
    memory_.passes().InstallDifference(inverse, state.last_pulled.values(), pulled, to.values(), x);
  } else if (inverse != 0 && options_.kind == Kind::kGluVelocity) {
    memory_.passes().InstallCorrection(inverse, pulled, state.velocity->values(), x);
  } else {
    memory_.Copy(pulled, x);
  }
  if (!is_kept) return;
  if (version.value() == warmup && state.snapshot != nullptr) memory_.Copy(pulled, state.snapshot->values());
  state.last_version = version;
  if (UsesDifference(options_.kind) || options_.kind == Kind::kDcLocal) state.last_pulled = std::move(values);
}

}  // namespace ssd
