// A training pass as one call.
#ifndef SSD_TESTS_TESTING_TRAIN_NOW_H_
#define SSD_TESTS_TESTING_TRAIN_NOW_H_

#include <optional>
#include <utility>

#include "common/logging.h"
#include "models/model.h"

namespace ssd::testing {

// REQUIRES: the model's device works inside the call, as the CPU does.
inline BatchResult TrainNow(
    Model& model, const Batch& batch, std::span<float> gradient,
    Model::GradientReady ready = [](int64_t) {}) {
  std::optional<BatchResult> result;
  model.Train(batch, gradient, std::move(ready), [&result](const BatchResult& done) { result = done; });
  CHECK(result.has_value());
  return *result;
}

}  // namespace ssd::testing

#endif  // SSD_TESTS_TESTING_TRAIN_NOW_H_
