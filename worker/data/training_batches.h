// Makes a worker's training batch of any step: the data order's samples, augmented and normalised.
//
// Not thread-safe. A batch is a pure function of the options and the step.
#ifndef SSD_WORKER_DATA_TRAINING_BATCHES_H_
#define SSD_WORKER_DATA_TRAINING_BATCHES_H_

#include <cstdint>
#include <span>

#include "common/types.h"
#include "worker/data/data_order.h"
#include "worker/data/image_set.h"
#include "worker/data/normalizer.h"

namespace ssd {

class TrainingBatches {
 public:
  // `images` must outlive this object. REQUIRES: order.options().samples == images.size().
  TrainingBatches(const ImageSet& images, const DataOrder& order, WorkerId worker, bool augment);

  int64_t batch_size() const { return order_.options().batch; }
  int64_t batch_floats() const { return batch_size() * normalizer_.shape().size(); }

  // Writes the batch of `step`. REQUIRES: `images` (B, H, W, C) has batch_floats() elements, `labels`
  // batch_size().
  void Make(Step step, std::span<float> images, std::span<int32_t> labels);

 private:
  const ImageSet& images_;
  const WorkerId worker_;
  const bool augment_;
  const Normalizer normalizer_;
  DataOrder order_;
};

}  // namespace ssd

#endif  // SSD_WORKER_DATA_TRAINING_BATCHES_H_
