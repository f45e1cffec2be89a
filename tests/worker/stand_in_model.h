// A model of one-float layers that tells what it does, and batches that a test can hold back.
#ifndef SSD_TESTS_WORKER_STAND_IN_MODEL_H_
#define SSD_TESTS_WORKER_STAND_IN_MODEL_H_

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/executor.h"
#include "models/host_memory.h"
#include "models/model.h"
#include "worker/data/batch_source.h"

namespace ssd::testing {

// Layer i is "layer<i>", of one parameter x_i whose gradient is (i + 1) (x_i - target), where the target
// depends on the step. Its only running statistic is the number of passes, plus 100 times `target`.
class StandInModel : public Model {
 public:
  explicit StandInModel(float target, int layers = 3) : parameters_(layers, 1.0f), target_(target) {
    for (int i = 0; i < layers; ++i) layout_.parameters.Add(absl::StrCat("layer", i), {1});
    layout_.buffers.Add("passes", {1});
  }

  const ModelLayout& layout() const override { return layout_; }
  DeviceMemory& memory() override { return memory_; }
  std::span<float> parameters() override { return parameters_; }
  std::span<float> buffers() override { return {&passes_, 1}; }

  // What Train does, as a function.
  static float Gradient(int layer, float x, float target, int64_t step) {
    return static_cast<float>(layer + 1) * (x - target - 0.125f * static_cast<float>(step % 3));
  }

  void Train(const Batch&, std::span<float> gradient, GradientReady ready, TrainingDone done) override {
    const int64_t step = steps++;
    gradient_ = gradient;
    weights_at_gradient.push_back(parameters_);
    passes_ = 100 * target_ + static_cast<float>(steps);
    Tell(absl::StrCat("train ", step));
    for (int i = static_cast<int>(parameters_.size()) - 1; i >= 0; --i) {
      Tell(absl::StrCat("layer ", i, " begins"));
      gradient[i] = step == bad_gradient_step ? NAN : Gradient(i, parameters_[i], target_, step);
      Tell(absl::StrCat("layer ", i, " returns"));
      ready(i);
    }
    done({.loss = step == bad_loss_step ? NAN : 0.5, .correct = 1, .samples = 2});
  }
  std::span<const float> gradient() const override { return gradient_; }
  BatchResult Evaluate(const Batch&, std::span<const float>) override { return {}; }

  int64_t steps = 0;                                    // done
  std::vector<std::vector<float>> weights_at_gradient;  // [step][layer]
  int64_t bad_loss_step = -1, bad_gradient_step = -1;
  std::function<void(const std::string&)> tell;

 private:
  void Tell(const std::string& event) const {
    if (tell) tell(event);
  }

  HostMemory memory_;
  ModelLayout layout_;
  std::vector<float> parameters_;
  std::span<const float> gradient_;
  float passes_ = 0;
  const float target_;
};

// Gives steps before `limit` at once; the others wait until Release.
class HeldBatches : public BatchSource {
 public:
  explicit HeldBatches(Executor& executor, int64_t limit = INT64_MAX) : executor_(executor), limit_(limit) {}

  void Get(Step step, Callback ready) override {
    waiting_ = [this, ready = std::move(ready)]() mutable {
      executor_.Post([ready = std::move(ready)]() mutable { ready(Batch{}); });
    };
    if (step < Step(limit_)) Release();
  }
  // Gives the batch that is waited for, and all that follow.
  void ReleaseAll() {
    limit_ = INT64_MAX;
    Release();
  }

 private:
  void Release() {
    if (waiting_ != nullptr) std::exchange(waiting_, nullptr)();
  }

  Executor& executor_;
  int64_t limit_;
  absl::AnyInvocable<void()> waiting_;
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_WORKER_STAND_IN_MODEL_H_
