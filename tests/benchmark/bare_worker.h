// A worker without a cluster: a model and momentum SGD on weights of its own. What is left of a run when nothing is
// shared, so the upper bound of what a cluster of such workers can do.
//
// Not thread-safe.
#ifndef SSD_TESTS_BENCHMARK_BARE_WORKER_H_
#define SSD_TESTS_BENCHMARK_BARE_WORKER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/partition.h"
#include "models/registry.h"
#include "worker/local_update.h"

namespace ssd::benchmarks {

class BareWorker {
 public:
  // A model by its name in the registry, on made-up images of the size that it is for. Errors as MakeModel's.
  static absl::StatusOr<std::unique_ptr<BareWorker>> Make(absl::string_view model, int64_t batch,
                                                          int threads);
  static absl::StatusOr<std::unique_ptr<BareWorker>> Make(absl::string_view model, int64_t batch, int threads,
                                                          DeviceFactory make_device);

  // The gradient of the batch, which is the same one always.
  void ComputeGradient();
  // The gradient, and a step along it.
  void Step();

 private:
  BareWorker(std::unique_ptr<Model> model, const ModelOptions& options);

  const std::unique_ptr<Model> model_;
  const Partition partition_;
  LocalUpdate update_;
  std::vector<float> images_;  // (N, H, W, C)
  std::vector<int32_t> labels_;
  std::vector<float> gradient_;
};

}  // namespace ssd::benchmarks

#endif  // SSD_TESTS_BENCHMARK_BARE_WORKER_H_
