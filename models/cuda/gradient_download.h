// Brings a training pass' gradient to the host while the pass goes on.
//
// The backward pass makes the gradient from its end to its beginning. Whenever enough of it is final it is copied, on the
// to-host stream, to where it will be pushed from:
//
//   compute     ... backward of the last layers | record: final | backward of the layers before ...
//   to-host                                     | wait: final   | copy | notify: ready
//
// Notifications become tasks of the executor, in their order. Nothing waits for anything: not the compute stream, and not the
// host. When the pass' last task has run, the to-host stream has read all of the gradient.
#ifndef SSD_MODELS_CUDA_GRADIENT_DOWNLOAD_H_
#define SSD_MODELS_CUDA_GRADIENT_DOWNLOAD_H_

#include <memory>
#include <span>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "common/executor.h"
#include "models/cuda/runtime.h"
#include "models/model.h"

namespace ssd {

// Not thread-safe: used by tasks of `executor`.
class GradientDownload {
 public:
  // Copies of fewer bytes cost more to start than to make; the pass' last one may be smaller.
  static constexpr int64_t kLeastBytes = 256 << 10;

  // `size`: floats of the gradient. Both others outlive this.
  GradientDownload(CudaRuntime& runtime, Executor& executor, int64_t size);

  // Where the pass writes the gradient.
  std::span<float> gradient() const { return {gradient_, static_cast<size_t>(size_)}; }

  // See Device::BeginGradient, GradientFinal and EndGradient. REQUIRES: `host` is pinned, and has the gradient's size.
  void Begin(std::span<float> host, Model::GradientReady ready);
  void Final(int64_t first);
  void End(absl::AnyInvocable<void()> done);

  ~GradientDownload();

 private:
  void Post(std::function<void()> task);

  CudaRuntime& runtime_;
  Executor& executor_;
  const int64_t size_;
  float* const gradient_;
  std::span<float> host_;
  Model::GradientReady ready_;
  absl::AnyInvocable<void()> done_;
  int64_t copied_from_ = 0;  // all from here on is copied, or about to be
  // One for each copy of a pass, made as they are first needed.
  std::vector<CudaRuntime::Event> finals_;
  size_t copies_ = 0;  // of the pass under way
  // Gone with this object: a notification may still be on its way.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_GRADIENT_DOWNLOAD_H_
