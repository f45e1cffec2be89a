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
                         std::shared_ptr<const LearningRate> learning_rate)
    : options_(options),
      alpha_(ResolveAlpha(options)),
      schedule_(std::move(schedule)),
      learning_rate_(std::move(learning_rate)),
      blocks_(partition.num_parameter_blocks()) {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const int64_t size = partition.blocks()[i].size;
    if (options.kind == Kind::kGlu) blocks_[i].global_gradient.resize(size, 0.0f);
    if (HasOwnVelocity(options.kind) || options.kind == Kind::kGluMomentum) {
      blocks_[i].velocity.resize(size, 0.0f);
    }
    if (options.kind == Kind::kGluPrototype) blocks_[i].snapshot.resize(size, 0.0f);
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
  AccumulatePass(Numbers(Step(0)), g, x, blocks_[block.value()].velocity);
}

void LocalUpdate::Apply(BlockId block, Step step, std::span<const float> g, std::span<float> x) {
  BlockState& state = blocks_[block.value()];
  const LocalStep numbers = Numbers(step);
  switch (options_.kind) {
    case Kind::kSgd:
      return SgdPass(numbers, g, x);
    case Kind::kGlu:
      return GluPass(numbers, g, state.global_gradient, x);
    case Kind::kMomentum:
    case Kind::kGluVelocity:
      return MomentumPass(numbers, g, state.velocity, x);
    case Kind::kGluMomentum:
      return GluMomentumPass(numbers, g, state.velocity, x);
    case Kind::kGluPrototype: {
      const bool renew = ++state.updates == schedule_->options().k;
      if (renew) state.updates = 0;
      return GluPrototypePass(numbers, renew, g, state.snapshot, x);
    }
    case Kind::kDcLocal:
      return DcLocalPass(numbers, g, state.last_pulled.values(), x);
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
    std::vector<float>& to = options_.kind == Kind::kGlu ? state.global_gradient : state.velocity;
    InstallDifferencePass(inverse, state.last_pulled.values(), pulled, to, x);
  } else if (inverse != 0 && options_.kind == Kind::kGluVelocity) {
    InstallCorrectionPass(inverse, pulled, state.velocity, x);
  } else {
    std::copy(pulled.begin(), pulled.end(), x.begin());
  }
  if (!is_kept) return;
  if (version.value() == warmup && !state.snapshot.empty()) {
    state.snapshot.assign(pulled.begin(), pulled.end());
  }
  state.last_version = version;
  if (UsesDifference(options_.kind) || options_.kind == Kind::kDcLocal) state.last_pulled = std::move(values);
}

}  // namespace ssd
