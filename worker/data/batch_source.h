// Where the trainer gets its batches from.
#ifndef SSD_WORKER_DATA_BATCH_SOURCE_H_
#define SSD_WORKER_DATA_BATCH_SOURCE_H_

#include "absl/functional/any_invocable.h"
#include "common/types.h"
#include "models/batch.h"

namespace ssd {

class BatchSource {
 public:
  using Callback = absl::AnyInvocable<void(const Batch& batch)>;

  virtual ~BatchSource() = default;

  // Calls `ready` with the batch of `step`, on the owner's executor, never inside Get. The batch lives until
  // the next Get. REQUIRES: steps are asked for in order, one at a time: each is the last one's successor.
  virtual void Get(Step step, Callback ready) = 0;
};

}  // namespace ssd

#endif  // SSD_WORKER_DATA_BATCH_SOURCE_H_
