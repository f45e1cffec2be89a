// Trains one replica: the order of events of a worker's steps. Source: Xu et al. 2020 and docs/algorithm.md.
//
//   step t, synchronous (ssgd, warm-up)           step t, delay stage
//   1. g = gradient at x, pushed block by block   1. the same
//   2. start the pull of version t + 1            2. a pull under way that is awaited in t: wait; G; x = W
//   3. wait for it; x = W                         3. x = local update (x, g, G)
//                                                 4. a period ends: start the pull of version t + 1
//                                                    (pull_overlap 0: wait for it; G; x = W)
//
// A version that is evaluated is evaluated right after it is installed, before the local update, with the
// averaged running statistics that come with it. The last version is awaited after the last step.
//
// Not thread-safe: a state machine on the worker's executor. Nothing here waits; only a batch's computation
// on the CPU occupies the executor. What it borrows outlives it.
#ifndef SSD_WORKER_TRAINER_H_
#define SSD_WORKER_TRAINER_H_

#include <map>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "common/clock.h"
#include "common/sync_schedule.h"
#include "common/types.h"
#include "models/model.h"
#include "worker/data/batch_source.h"
#include "worker/evaluator.h"
#include "worker/gradient_pusher.h"
#include "worker/local_update.h"
#include "worker/parameter_client.h"

namespace ssd {

class Trainer {
 public:
  struct Options {
    WorkerId worker;
    int64_t samples_per_epoch = 1;
    // The options that all processes must share, for the hello.
    std::vector<std::pair<std::string, std::string>> fields;
    double report_interval = 20;  // steps between reports
  };

  // The end of step `step`, x as step t + 1 finds it (but for a pull that is awaited later).
  using StepDone = absl::AnyInvocable<void(Step step)>;
  // After the last version is installed: the model is trained. `buffers` are the averaged running statistics.
  // An ending with a code other than 0 is passed on to all.
  using Finished = absl::AnyInvocable<Ending(std::span<const float> buffers)>;

  // This worker's own report, after it has been sent. An error, of the disk say, ends the run.
  using OnReport = absl::AnyInvocable<absl::Status(const v1::Report& report)>;

  Trainer(Options options, Model& model, BatchSource& batches, Evaluator* evaluator, ParameterClient& client,
          std::shared_ptr<const SyncSchedule> schedule, LocalUpdate* local_update, Clock& clock);

  // Joins the run and trains to its end, which the client reports. `local_update`, `evaluator`: null where
  // the policy or the run has none.
  void Start(Finished finished);

  void set_step_done(StepDone step_done) { step_done_ = std::move(step_done); }
  void set_on_report(OnReport on_report) { on_report_ = std::move(on_report); }

 private:
  // Sums since the last report; times in seconds.
  struct Tally {
    int64_t steps = 0;
    BatchResult result;
    double data = 0, compute = 0, local_update = 0, push = 0, wait = 0;
    absl::Duration since;
    ParameterClient::Traffic before;  // the client's, when the sums began
  };

  v1::Hello Hello() const;
  void OnJoined();
  void BeginStep(Step step);
  void OnBatch(Step step, const Batch& batch);
  void OnReady(Step step, int64_t first);
  void OnGradient(Step step, const BatchResult& result);
  void AfterGradient(Step step);
  void UpdateLocally(Step step);
  void StartPull(Step step);
  void EndStep(Step step);
  void Finish();
  // Waits for the pull of `version` if it is under way, installs it, and goes on.
  void AwaitPull(Version version, absl::AnyInvocable<void()> then);
  void Install(Version version, std::vector<ParameterClient::PulledBlock> blocks);
  void Evaluate(Version version);
  void Report(Step step);
  std::span<float> BlockOf(const Block& block) {
    return model_.parameters().subspan(block.offset, block.size);
  }

  const Options options_;
  Model& model_;
  BatchSource& batches_;
  Evaluator* const evaluator_;
  ParameterClient& client_;
  const std::shared_ptr<const SyncSchedule> schedule_;
  LocalUpdate* const local_update_;
  Clock& clock_;
  GradientPusher pusher_;
  StepDone step_done_;
  OnReport on_report_;
  Finished finished_;

  std::map<Version, Step> pulling_;      // pulls under way, and the step after whose gradient each is awaited
  std::vector<float> averaged_buffers_;  // of the last version that came with them
  absl::Duration phase_start_;           // steady time
  absl::Duration pushing_;               // in the pass under way
  bool statistics_pushed_ = false;       // in the pass under way
  Tally tally_;
  // Gone with this object: a batch or a pull may still be on its way.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ssd

#endif  // SSD_WORKER_TRAINER_H_
