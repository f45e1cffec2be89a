#include "worker/local_update.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/logging.h"

namespace ssd {
namespace {

double ResolveAlpha(const LocalUpdateOptions& options) {
  if (options.alpha.has_value()) return *options.alpha;
  return options.kind == LocalUpdateOptions::Kind::kGlu ? (1 - options.beta) / (1 - options.momentum) : 1;
}

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
    if (options.kind == LocalUpdateOptions::Kind::kGlu) blocks_[i].global_gradient.resize(size, 0.0f);
    if (options.kind == LocalUpdateOptions::Kind::kMomentum) blocks_[i].velocity.resize(size, 0.0f);
  }
}

double LocalUpdate::LocalRate(Step step) const { return learning_rate_->At(step) * options_.local_lr_scale; }

void LocalUpdate::AfterSynchronousGradient(BlockId block, std::span<const float> x,
                                           std::span<const float> g) {
  if (options_.kind != LocalUpdateOptions::Kind::kMomentum) return;
  const float mu = static_cast<float>(options_.momentum), lambda = static_cast<float>(options_.weight_decay);
  std::vector<float>& u = blocks_[block.value()].velocity;
  for (size_t i = 0; i < u.size(); ++i) u[i] = mu * u[i] + (g[i] + lambda * x[i]);
}

void LocalUpdate::Apply(BlockId block, Step step, std::span<const float> g, std::span<float> x) {
  BlockState& state = blocks_[block.value()];
  const float rate = static_cast<float>(LocalRate(step)), lambda = static_cast<float>(options_.weight_decay);
  const float alpha = static_cast<float>(alpha_), beta = static_cast<float>(options_.beta);
  const float mu = static_cast<float>(options_.momentum);
  const float* __restrict gradient = g.data();
  float* __restrict weights = x.data();
  switch (options_.kind) {
    case LocalUpdateOptions::Kind::kSgd:
      for (size_t i = 0; i < x.size(); ++i) weights[i] -= rate * (alpha * gradient[i] + lambda * weights[i]);
      break;
    case LocalUpdateOptions::Kind::kGlu: {
      const float* __restrict global = state.global_gradient.data();
      for (size_t i = 0; i < x.size(); ++i) {
        weights[i] -= rate * (alpha * gradient[i] + beta * global[i] + lambda * weights[i]);
      }
      break;
    }
    case LocalUpdateOptions::Kind::kMomentum: {
      float* __restrict u = state.velocity.data();
      const bool nesterov = options_.nesterov;
      for (size_t i = 0; i < x.size(); ++i) {
        const float d = gradient[i] + lambda * weights[i];
        u[i] = mu * u[i] + d;
        weights[i] -= rate * (nesterov ? d + mu * u[i] : u[i]);
      }
      break;
    }
  }
}

void LocalUpdate::Install(BlockId block, Version version, Buffer values, std::span<float> x) {
  CHECK_EQ(values.size(), x.size());
  std::copy(values.values().begin(), values.values().end(), x.begin());
  if (options_.kind != LocalUpdateOptions::Kind::kGlu) return;

  BlockState& state = blocks_[block.value()];
  const int64_t warmup = schedule_->options().warmup_steps;
  if (version.value() < warmup) {
    // Of the warm-up's versions only the one at which G's first interval begins matters.
    if (version.value() != warmup - std::min(schedule_->options().k, warmup)) return;
  } else if (!state.last_pulled.empty()) {
    double passed = 0;
    for (Step step(state.last_version.value()); step < Step(version.value()); ++step)
      passed += LocalRate(step);
    // 1 / passed must be a float: a rate that falls to (almost) 0 moves nothing that G could tell of.
    if (passed > std::numeric_limits<float>::min()) {
      const float scale = static_cast<float>(1 / passed);
      const float* __restrict last = state.last_pulled.values().data();
      const float* __restrict pulled = values.values().data();
      float* __restrict global = state.global_gradient.data();
      for (size_t i = 0; i < x.size(); ++i) global[i] = (last[i] - pulled[i]) * scale;
    }
  }
  state.last_pulled = std::move(values);
  state.last_version = version;
}

}  // namespace ssd
