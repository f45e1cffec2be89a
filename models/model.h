// A replica of the network as the training runtime sees it: one flat vector of parameters, one of buffers,
// and the two passes over a batch.
//
// Not thread-safe; one thread at a time.
#ifndef SSD_MODELS_MODEL_H_
#define SSD_MODELS_MODEL_H_

#include <cstdint>
#include <span>

#include "absl/functional/any_invocable.h"
#include "common/parameter_layout.h"
#include "models/batch.h"
#include "models/device_memory.h"

namespace ssd {

// Sums over the valid samples of one batch.
struct BatchResult {
  double loss = 0;      // the sum of the samples' cross-entropy
  int64_t correct = 0;  // top 1
  int64_t samples = 0;
};

class Model {
 public:
  // Called during a training pass whenever the gradient has arrived from float `first` to the end of the vector;
  // `first` falls with each call and is 0 in the last.
  using GradientReady = absl::AnyInvocable<void(int64_t first)>;
  // Called at the end of a training pass, after the last GradientReady.
  using TrainingDone = absl::AnyInvocable<void(const BatchResult& result)>;

  virtual ~Model() = default;

  virtual const ModelLayout& layout() const = 0;

  // Where the three that follow lie.
  virtual DeviceMemory& memory() = 0;

  // layout().parameters.size() floats: the local weights x. Callers write them between passes.
  virtual std::span<float> parameters() = 0;
  // layout().buffers.size() floats: this replica's own running statistics, which training passes renew, before they
  // call GradientReady for the first time.
  virtual std::span<float> buffers() = 0;
  // The last training pass' gradient. The host's memory: what Train was given.
  virtual std::span<const float> gradient() const = 0;

  // Computes the gradient of the batch's mean loss at parameters() into `gradient`
  // (layout().parameters.size() floats of the host's memory, which live until the next Train). `ready` and `done` are called
  // inside Train, or, by a device that works beside the host, from later tasks of the caller's executor. The batch lives
  // until `done` is called. REQUIRES: the last Train is done.
  virtual void Train(const Batch& batch, std::span<float> gradient, GradientReady ready,
                     TrainingDone done) = 0;

  // Evaluates with the given running statistics (layout().buffers.size() floats, the host's). Changes neither parameters
  // nor buffers.
  virtual BatchResult Evaluate(const Batch& batch, std::span<const float> buffers) = 0;
};

}  // namespace ssd

#endif  // SSD_MODELS_MODEL_H_
