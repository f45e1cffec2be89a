// Batches made on the spot, for tests on one thread.
#ifndef SSD_TESTS_TESTING_POSTED_BATCHES_H_
#define SSD_TESTS_TESTING_POSTED_BATCHES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "common/executor.h"
#include "worker/data/batch_source.h"
#include "worker/data/training_batches.h"

namespace ssd::testing {

// Makes a batch when it is asked for, and posts it to the executor, which outlives this.
class PostedBatches : public BatchSource {
 public:
  PostedBatches(TrainingBatches batches, Executor& executor)
      : batches_(std::move(batches)),
        executor_(executor),
        images_(batches_.batch_floats()),
        labels_(batches_.batch_size()) {}

  // The batch of `step`, at once. Lives until the next call.
  Batch Make(Step step) {
    batches_.Make(step, images_, labels_);
    return {.images = images_, .labels = labels_, .valid = batches_.batch_size()};
  }

  void Get(Step step, Callback ready) override {
    executor_.Post([this, step, ready = std::move(ready)]() mutable { ready(Make(step)); });
  }

 private:
  TrainingBatches batches_;
  Executor& executor_;
  std::vector<float> images_;    // (B, H, W, C)
  std::vector<int32_t> labels_;  // (B)
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_TESTING_POSTED_BATCHES_H_
