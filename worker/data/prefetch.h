// A BatchSource whose own thread makes the batches of the coming steps while the present one is trained on.
//
// Threads: Get and the destructor are called by tasks of the consumer's executor (or while it runs none), and
// callbacks run there. A callback that has not run when the source is destroyed never does. Memory: `depth`
// batches, allocated in the constructor; the steady state allocates only what Executor::Post does.
#ifndef SSD_WORKER_DATA_PREFETCH_H_
#define SSD_WORKER_DATA_PREFETCH_H_

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "common/executor.h"
#include "common/mutex.h"
#include "common/types.h"
#include "models/batch.h"
#include "worker/data/batch_source.h"
#include "worker/data/data_order.h"
#include "worker/data/image_set.h"
#include "worker/data/training_batches.h"

namespace ssd {

class PrefetchingBatchSource : public BatchSource {
 public:
  struct Options {
    WorkerId worker;      // i, one of the order's workers
    bool augment = true;  // shift and mirror the images
    StepRange steps;      // those that Get will be asked for
    int depth = 3;        // batches in memory, the consumer's included; at least 2
  };

  // `images` and `executor` must outlive the source. Seed, N and B are those of `order`.
  PrefetchingBatchSource(const ImageSet& images, const DataOrder& order, const Options& options,
                         Executor& executor);
  ~PrefetchingBatchSource() override;

  // REQUIRES: the first step asked for is options.steps.first, and none is options.steps.end or later.
  void Get(Step step, Callback ready) override;

 private:
  struct Slot {
    std::vector<float> images;
    std::vector<int32_t> labels;
    Batch batch;  // views of the two
  };

  void Run();
  Slot& SlotOf(Step step) { return slots_[step.value() % slots_.size()]; }
  void Deliver(Step step, Callback ready);

  const Options options_;
  Executor& executor_;
  TrainingBatches batches_;  // used by the thread only
  // Step t's batch is made in slot t mod depth. The thread owns the slots of steps from made_ on, the
  // consumer that of the step it asked for last; no one touches those between.
  std::vector<Slot> slots_;
  const std::shared_ptr<const bool> life_;  // tasks on the executor hold it weakly: expired, they do nothing

  Mutex mutex_;
  CondVar room_;                         // a batch was given back, or stopping_
  Step made_ ABSL_GUARDED_BY(mutex_);    // batches before it are made
  Step wanted_ ABSL_GUARDED_BY(mutex_);  // asked for last; batches before it are free again
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;
  Callback waiting_ ABSL_GUARDED_BY(mutex_);  // for wanted_, while that is not made; else null
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: it starts when all else is there
};

}  // namespace ssd

#endif  // SSD_WORKER_DATA_PREFETCH_H_
