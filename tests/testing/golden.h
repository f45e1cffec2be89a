// tests/fixtures/golden.json: trajectories that the executable specification beside it has computed, in
// float64.
#ifndef SSD_TESTS_TESTING_GOLDEN_H_
#define SSD_TESTS_TESTING_GOLDEN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/executor.h"
#include "common/learning_rate.h"
#include "common/optimizer.h"
#include "common/parameter_layout.h"
#include "common/sync_schedule.h"
#include "models/host_memory.h"
#include "models/model.h"
#include "worker/data/batch_source.h"
#include "worker/local_update.h"

namespace ssd::testing {

// One configuration of the specification and what it led to.
struct Golden {
  std::string name;
  std::string policy;        // ssgd, ssd, ...
  std::string local_update;  // glu, sgd, momentum, ...
  int workers = 0;
  int size = 0;        // number of parameters
  int64_t offset = 0;  // by how much its periods end earlier
  std::vector<double> start;
  std::vector<std::vector<double>> weights;             // [step][coordinate]: version step + 1
  std::vector<std::vector<std::vector<double>>> local;  // [step][worker][coordinate]

  // The same configuration in our terms.
  SyncScheduleOptions schedule;
  LearningRateOptions learning_rate;
  OptimizerOptions optimizer;
  LocalUpdateOptions update;
};

// By name; all of the file.
const std::map<std::string, Golden>& AllGolden();

// The specification's stand-in for a network: the gradient of a diagonal quadratic with a centre of the
// worker's own, and noise fixed by worker and step, at the weights that it is given. One tensor a coordinate.
class QuadraticModel : public Model {
 public:
  QuadraticModel(const Golden& golden, int worker);

  const ModelLayout& layout() const override { return layout_; }
  DeviceMemory& memory() override { return memory_; }
  std::span<float> parameters() override { return parameters_; }
  std::span<float> buffers() override { return {}; }
  void Train(const Batch& batch, std::span<float> gradient, GradientReady ready, TrainingDone done) override;
  std::span<const float> gradient() const override { return gradient_; }
  BatchResult Evaluate(const Batch& batch, std::span<const float> buffers) override;

 private:
  const int worker_;
  HostMemory memory_;
  ModelLayout layout_;
  std::vector<float> parameters_;
  std::span<const float> gradient_;
  std::vector<double> curvature_, centre_;
  int64_t step_ = 0;  // Train calls so far
};

// Batches for a model that needs none.
class EmptyBatches : public BatchSource {
 public:
  explicit EmptyBatches(Executor& executor) : executor_(executor) {}
  void Get(Step, Callback ready) override {
    executor_.Post([ready = std::move(ready)]() mutable { ready(Batch{}); });
  }

 private:
  Executor& executor_;
};

// ||a - b|| / ||b||.
double RelativeError(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace ssd::testing

#endif  // SSD_TESTS_TESTING_GOLDEN_H_
