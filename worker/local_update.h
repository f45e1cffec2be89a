// What a worker does to its own weights between pulls, block by block. Source: Xu et al. 2020 (GLU);
// docs/algorithm.md.
//
// With eta_l the local learning rate, lambda the weight decay, x the local weights, g the worker's gradient
// at x, d = g + lambda x, W_last the weights that were pulled last:
//
//   sgd            x -= eta_l (alpha g + lambda x)
//   glu            x -= eta_l (alpha g + beta G + lambda x)
//   momentum       u = mu u + d from the first step on, warm-up included;  x -= eta_l u
//                  (Nesterov: x -= eta_l (d + mu u))
//   glu_velocity   the same; and each pull of the delay stage puts the global velocity in place of the slow part of
//                  the worker's own: u += G - (the worker's own move over G's steps per unit of eta_l)
//   glu_momentum   v = G at each pull;  v = mu v + alpha g + lambda x;  x -= eta_l v
//   glu_prototype  x -= eta_l (alpha g + beta (snapshot - x) + lambda x), snapshot = x after every k-th update: the
//                  form in the authors' program
//   dc_local       x -= eta_l (alpha g + dc_lambda g g (x - W_last) + lambda x)   (Zheng et al. 2017, DC-ASGD)
//
// G is the descent of the global weights per unit of local learning rate between the last two pulled
// versions:
//   G = (W_last - W_pulled) / sum of eta_l over the steps between them.
// The warm-up's last pull, of version T_w, takes the steps since version T_w - min(k, T_w). Where the sum is
// 0, G stays, and u and v are left alone.
//
// The worker's own move over the steps between two pulls' starts is W_last - x, with x as the later pull finds it when
// it is installed: nothing moves x between the two. So glu_velocity's correction is (x - W_pulled) / sum of eta_l.
//
// Each block keeps its own state, so that blocks may be at different versions. Weights, gradients and what is remembered lie
// in the device's memory.
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
#include "models/device_memory.h"

namespace ssd {

class LocalUpdate {
 public:
  LocalUpdate(const LocalUpdateOptions& options, const Partition& partition,
              std::shared_ptr<const SyncSchedule> schedule, std::shared_ptr<const LearningRate> learning_rate,
              DeviceMemory& memory);

  // A step of the warm-up: the gradient `g` at `x`, before the pull of that step replaces x.
  void AfterSynchronousGradient(BlockId block, std::span<const float> x, std::span<const float> g);

  // A step of the delay stage: moves the block's weights `x`.
  void Apply(BlockId block, Step step, std::span<const float> g, std::span<float> x);

  // A pulled block, `values` being in the device's memory: x becomes them, and what depends on pulls is renewed. REQUIRES:
  // x is what it was when the pull was started.
  void Install(BlockId block, Version version, Buffer values, std::span<float> x);

  double alpha() const { return alpha_; }

 private:
  // What a block remembers; each array is null where the kind of update needs none.
  struct BlockState {
    Buffer last_pulled;  // W_last: glu, glu_momentum, dc_local; empty before there is one
    Version last_version;
    std::unique_ptr<DeviceArray> global_gradient;  // G: glu
    std::unique_ptr<DeviceArray> velocity;         // u: momentum, glu_velocity;  v: glu_momentum
    std::unique_ptr<DeviceArray> snapshot;         // glu_prototype
    int64_t updates = 0;                           // glu_prototype: since the snapshot
  };

  double LocalRate(Step step) const;
  LocalStep Numbers(Step step) const;
  // 1 / the sum of eta_l over the steps of [from, to); 0 where that is no float: a rate that falls to (almost) 0 moves
  // nothing that G could tell of.
  float InversePassed(Version from, Version to) const;

  const LocalUpdateOptions options_;
  const double alpha_;
  const std::shared_ptr<const SyncSchedule> schedule_;
  const std::shared_ptr<const LearningRate> learning_rate_;
  DeviceMemory& memory_;
  std::vector<BlockState> blocks_;  // by id, of parameters alone
};

}  // namespace ssd

#endif  // SSD_WORKER_LOCAL_UPDATE_H_
