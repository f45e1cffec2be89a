// A worker's share of the test set in batches of one fixed size, the last one padded.
//
// The stripes of the N workers, images i n / N up to (i + 1) n / N of n, cover the set without overlap, and
// padding does not count, so the sums of right and total over the workers depend neither on N nor on the
// batch size.
//
// Not thread-safe. Memory: one batch, allocated in the constructor.
#ifndef SSD_WORKER_DATA_EVALUATION_STRIPE_H_
#define SSD_WORKER_DATA_EVALUATION_STRIPE_H_

#include <cstdint>
#include <vector>

#include "common/types.h"
#include "models/batch.h"
#include "worker/data/image_set.h"
#include "worker/data/normalizer.h"

namespace ssd {

class EvaluationStripe {
 public:
  // `images` must outlive the stripe. REQUIRES: 0 <= worker < workers, batch_size >= 1.
  EvaluationStripe(const ImageSet& images, WorkerId worker, int64_t workers, int64_t batch_size);

  // Images in the stripe; may be 0 where there are more workers than images.
  int64_t size() const { return end_ - first_; }
  int64_t num_batches() const { return (size() + batch_size_ - 1) / batch_size_; }

  // Batch `index`, of `batch_size` images without augmentation, of which the first `valid` are the stripe's;
  // the rest is 0 with label 0. Lives until the next call. REQUIRES: 0 <= index < num_batches().
  const Batch& Read(int64_t index);

 private:
  const ImageSet& images_;
  const int64_t first_;
  const int64_t end_;
  const int64_t batch_size_;
  const Normalizer normalizer_;
  std::vector<float> batch_images_;    // (B, H, W, C)
  std::vector<int32_t> batch_labels_;  // (B)
  Batch batch_;
};

}  // namespace ssd

#endif  // SSD_WORKER_DATA_EVALUATION_STRIPE_H_
