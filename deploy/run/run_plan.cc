#include "deploy/run/run_plan.h"

#include <algorithm>

#include "common/config/resnet_plan.h"
#include "common/config/training_plan.h"
#include "common/status_macros.h"

namespace ssd {
namespace {

constexpr ImageShape kImage = {.height = 32, .width = 32, .channels = 3};  // of both data sets
constexpr int64_t kClasses = 10;
// Of a process that does nothing yet: gRPC, and oneDNN in a worker.
constexpr int64_t kServerBaseBytes = 18 << 20;
constexpr int64_t kWorkerBaseBytes = 30 << 20;

}  // namespace

absl::StatusOr<ModelOutline> OutlineOf(const v1::Experiment& experiment) {
  return OutlineOf(MakeResNetSpec(experiment.model()), kImage, kClasses);
}

absl::StatusOr<RunPlan> MakeRunPlan(const v1::Experiment& experiment, int64_t cores) {
  ASSIGN_OR_RETURN(const ModelOutline outline, OutlineOf(experiment));
  const int64_t workers = experiment.cluster().workers();
  const int64_t servers = experiment.cluster().servers();
  const bool is_shapes = experiment.data().dataset() == v1::Data::shapes;
  const bool is_delayed = experiment.sync().policy() == v1::Sync::ssd_sgd;

  RunPlan plan;
  plan.parameters = outline.layout.parameters.size();
  plan.buffers = outline.layout.buffers.size();
  plan.train_samples = is_shapes ? experiment.data().shapes_train() : 50'000;
  plan.test_samples = is_shapes ? experiment.data().shapes_test() : 10'000;
  plan.global_batch = workers * experiment.training().batch_size();
  const TrainingPlan training = MakeTrainingPlan(experiment, plan.train_samples);
  plan.steps_per_epoch = training.steps_per_epoch;
  plan.steps = training.schedule.total_steps;
  plan.warmup_steps = training.schedule.warmup_steps;
  plan.threads = experiment.cluster().has_threads() ? experiment.cluster().threads()
                                                    : std::max<int64_t>(1, cores / workers);

  const int64_t model_bytes = 4 * (plan.parameters + plan.buffers);
  const int64_t copies = (is_delayed ? experiment.sync().k() : 1) + 8 +
                         (experiment.server().deterministic() ? 2 * (workers - 1) : 0);
  plan.server_bytes = kServerBaseBytes + copies * model_bytes / servers;
  plan.worker_bytes = kWorkerBaseBytes + (plan.train_samples + plan.test_samples) * kImage.size() +
                      10 * model_bytes + 4 * experiment.training().batch_size() * outline.activation_floats;
  return plan;
}

}  // namespace ssd
