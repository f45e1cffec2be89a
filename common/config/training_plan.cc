#include "common/config/training_plan.h"

#include <algorithm>

#include "common/config/experiment.h"

namespace ssd {
namespace {

double Interval(const v1::TrainingTime& time, double steps_per_epoch) {
  return time.has_epochs() ? time.epochs() * steps_per_epoch : static_cast<double>(time.iterations());
}

LearningRateOptions::Schedule ScheduleKind(v1::Schedule::Kind kind) {
  switch (kind) {
    case v1::Schedule::step:
      return LearningRateOptions::Schedule::kStep;
    case v1::Schedule::cosine:
      return LearningRateOptions::Schedule::kCosine;
    case v1::Schedule::polynomial:
      return LearningRateOptions::Schedule::kPolynomial;
    default:
      return LearningRateOptions::Schedule::kConstant;
  }
}

LocalUpdateOptions::Kind UpdateKind(v1::LocalUpdate::Kind kind) {
  switch (kind) {
    case v1::LocalUpdate::sgd:
      return LocalUpdateOptions::Kind::kSgd;
    case v1::LocalUpdate::momentum:
      return LocalUpdateOptions::Kind::kMomentum;
    case v1::LocalUpdate::glu_velocity:
      return LocalUpdateOptions::Kind::kGluVelocity;
    case v1::LocalUpdate::glu_momentum:
      return LocalUpdateOptions::Kind::kGluMomentum;
    case v1::LocalUpdate::glu_prototype:
      return LocalUpdateOptions::Kind::kGluPrototype;
    case v1::LocalUpdate::dc_local:
      return LocalUpdateOptions::Kind::kDcLocal;
    default:
      return LocalUpdateOptions::Kind::kGlu;
  }
}

}  // namespace

TrainingPlan MakeTrainingPlan(const v1::Experiment& experiment, int64_t samples_per_epoch) {
  const v1::Optimizer& optimizer = experiment.optimizer();
  const v1::Sync& sync = experiment.sync();
  const int64_t global_batch = experiment.cluster().workers() * experiment.training().batch_size();
  TrainingPlan plan;
  plan.steps_per_epoch = static_cast<double>(samples_per_epoch) / static_cast<double>(global_batch);
  const auto steps = [&plan](const v1::TrainingTime& time) {
    return ResolveSteps(time, plan.steps_per_epoch);
  };
  const int64_t total_steps = std::max<int64_t>(1, steps(experiment.training().duration()));

  const bool is_delayed = sync.policy() == v1::Sync::ssd_sgd;
  plan.schedule.policy =
      is_delayed ? SyncScheduleOptions::Policy::kSsdSgd : SyncScheduleOptions::Policy::kSsgd;
  plan.schedule.total_steps = total_steps;
  plan.schedule.evaluation_interval = Interval(experiment.evaluation().every(), plan.steps_per_epoch);
  if (is_delayed) {
    plan.schedule.k = sync.k();
    plan.schedule.warmup_steps = std::min(total_steps, steps(sync.warmup()));
    plan.schedule.pull_overlap = sync.pull_overlap();
    plan.schedule.push = sync.push() == v1::Sync::every_period ? SyncScheduleOptions::Push::kEveryPeriod
                                                               : SyncScheduleOptions::Push::kEveryStep;
  }

  plan.learning_rate = {.base = optimizer.lr(),
                        .schedule = ScheduleKind(optimizer.schedule().kind()),
                        .gamma = optimizer.schedule().gamma(),
                        .final_fraction = optimizer.schedule().final_fraction(),
                        .power = optimizer.schedule().power(),
                        .ramp_steps = steps(optimizer.schedule().lr_ramp()),
                        .total_steps = total_steps};
  for (const v1::TrainingTime& milestone : optimizer.schedule().milestones()) {
    plan.learning_rate.milestones.emplace_back(steps(milestone));
  }
  plan.optimizer = {.momentum = optimizer.momentum(),
                    .weight_decay = optimizer.weight_decay(),
                    .nesterov = optimizer.nesterov()};
  if (is_delayed) {
    LocalUpdateOptions update{.kind = UpdateKind(sync.local().update()),
                              .dc_lambda = sync.local().dc_lambda(),
                              .momentum = optimizer.momentum(),
                              .weight_decay = optimizer.weight_decay(),
                              .nesterov = optimizer.nesterov(),
                              .local_lr_scale = sync.local_lr_scale()};
    if (sync.local().has_alpha()) update.alpha = sync.local().alpha();
    if (sync.local().has_beta()) update.beta = sync.local().beta();
    plan.local_update = update;
  }
  plan.report_interval = std::max(1.0, Interval(experiment.output().report_every(), plan.steps_per_epoch));
  return plan;
}

}  // namespace ssd
