// Sends a step's gradient block by block, while the backward pass is still computing the blocks before it;
// with push every_period, adds up a period's gradients first.
//
// Not thread-safe; used on the worker's executor. Memory: one buffer of the size of the model for each step
// whose blocks are still on their way, at most SyncSchedule::max_open_steps() + 1; every_period: one more.
#ifndef SSD_WORKER_GRADIENT_PUSHER_H_
#define SSD_WORKER_GRADIENT_PUSHER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/buffer.h"
#include "common/sync_schedule.h"
#include "common/types.h"
#include "models/model.h"
#include "worker/parameter_client.h"

namespace ssd {

class GradientPusher {
 public:
  GradientPusher(ParameterClient& client, std::shared_ptr<const SyncSchedule> schedule);

  // Where the gradient of `step` goes (all parameters). The span lives until the next Begin.
  std::span<float> Begin(Step step);

  // The gradient is final from float `first` on: pushes every block that now is. `first` falls.
  void OnReady(int64_t first);

  // With `step`'s push, the running statistics of `model` that go with the pull after it.
  void PushBuffers(Step step, Model& model);

 private:
  void Push(const Block& block);

  ParameterClient& client_;
  const std::shared_ptr<const SyncSchedule> schedule_;
  BufferPool pool_;
  Step step_;
  std::span<float> writable_;  // gradient_'s memory: blocks are shared once they are final
  Buffer gradient_;
  int64_t next_block_ = -1;        // blocks after this one are pushed
  std::vector<float> period_sum_;  // every_period alone: of the steps since the block's last push
  std::vector<bool> in_period_;    // by block: whether period_sum_ holds a step
};

}  // namespace ssd

#endif  // SSD_WORKER_GRADIENT_PUSHER_H_
