// What a worker does to its own weights between pulls, block by block. Source: Xu et al. 2020 (GLU);
// docs/algorithm.md.
//
// With eta_l the local learning rate, lambda the weight decay, x the local weights, g the worker's gradient
// at x:
//
//   sgd        x -= eta_l (alpha g + lambda x)
//   glu        x -= eta_l (alpha g + beta G + lambda x)
//   momentum   u = mu u + g + lambda x from the first step on, warm-up included;  x -= eta_l u
//              (Nesterov: x -= eta_l (g + lambda x + mu u))
//
// G is the descent of the global weights per unit of local learning rate between the last two pulled
// versions:
//   G = (W_last - W_pulled) / sum of eta_l over the steps between them.
// The warm-up's last pull, of version T_w, takes the steps since version T_w - min(k, T_w). Where the sum is
// 0, G stays.
//
// Each block keeps its own state, so that blocks may be at different versions.
// Not thread-safe; used on the worker's executor.
#ifndef SSD_WORKER_LOCAL_UPDATE_H_
#define SSD_WORKER_LOCAL_UPDATE_H_

#include <memory>
#include <span>
#include <vector>

#include "common/buffer.h"
#include "common/learning_rate.h"
#include "common/local_update_options.h"
#include "common/partition.h"
#include "common/sync_schedule.h"
#include "common/types.h"

namespace ssd {

class LocalUpdate {
 public:
  LocalUpdate(const LocalUpdateOptions& options, const Partition& partition,
              std::shared_ptr<const SyncSchedule> schedule,
              std::shared_ptr<const LearningRate> learning_rate);

  // A step of the warm-up: the gradient `g` at `x`, before the pull of that step replaces x.
  void AfterSynchronousGradient(BlockId block, std::span<const float> x, std::span<const float> g);

  // A step of the delay stage: moves the block's weights `x`.
  void Apply(BlockId block, Step step, std::span<const float> g, std::span<float> x);

  // A pulled block: x becomes `values`, and G is renewed.
  void Install(BlockId block, Version version, Buffer values, std::span<float> x);

  double alpha() const { return alpha_; }

 private:
  struct BlockState {
    Buffer last_pulled;  // W_last; empty before there is one
    Version last_version;
    std::vector<float> global_gradient;  // G (glu)
    std::vector<float> velocity;         // u (momentum)
  };

  double LocalRate(Step step) const;

  const LocalUpdateOptions options_;
  const double alpha_;
  const std::shared_ptr<const SyncSchedule> schedule_;
  const std::shared_ptr<const LearningRate> learning_rate_;
  std::vector<BlockState> blocks_;  // by id, of parameters alone
};

}  // namespace ssd

#endif  // SSD_WORKER_LOCAL_UPDATE_H_
