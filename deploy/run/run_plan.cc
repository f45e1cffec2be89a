#include "deploy/run/run_plan.h"

#include <algorithm>

#include "common/config/training_plan.h"
#include "common/status_macros.h"
#include "models/registry.h"

namespace ssd {
namespace {

constexpr ImageShape kImage = {.height = 32, .width = 32, .channels = 3};  // of both data sets
constexpr int64_t kClasses = 10;
// Of a process that does nothing yet: gRPC, and oneDNN in a worker.
constexpr int64_t kServerBaseBytes = 18 << 20;
constexpr int64_t kWorkerBaseBytes = 30 << 20;

// Floats that one image's forward pass leaves for the backward pass in a CIFAR ResNet of 6n + 2 layers: two
// and a half times all convolutions' outputs. Measured with resnet8, 20 and 56: 2.1 to 2.5.
int64_t ActivationFloats(int64_t layers) {
  const int64_t n = (layers - 2) / 6;
  const int64_t stage1 = 32 * 32 * 16, stage2 = 16 * 16 * 32, stage3 = 8 * 8 * 64;
  return 5 * (stage1 * (2 * n + 1) + stage2 * 2 * n + stage3 * 2 * n) / 2;
}

}  // namespace

absl::StatusOr<RunPlan> MakeRunPlan(const v1::Experiment& experiment, int64_t cores) {
  ASSIGN_OR_RETURN(const ModelLayout layout,
                   LayoutOf(v1::Model::Name_Name(experiment.model().name()), kImage, kClasses));
  const int64_t workers = experiment.cluster().workers();
  const int64_t servers = experiment.cluster().servers();
  const bool is_shapes = experiment.data().dataset() == v1::Data::shapes;
  const bool is_delayed = experiment.sync().policy() == v1::Sync::ssd_sgd;

  RunPlan plan;
  plan.parameters = layout.parameters.size();
  plan.buffers = layout.buffers.size();
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
                      10 * model_bytes +
                      4 * experiment.training().batch_size() * ActivationFloats(experiment.model().name());
  return plan;
}

}  // namespace ssd
