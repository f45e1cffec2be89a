// A GPU's memory, and the local updates there.
//
// Streams: all but pulled weights is work of the compute stream, in the order of the calls. Stage copies on the to-device
// stream, beside what computes:
//
//   to-device   | wait: read | copy block | record: staged | ...
//   compute     ... | wait: staged | pass that reads the block | record: read | ...
//
// A staged buffer goes back to its pool when the last reference is gone, which may be before the pass that reads it has run;
// so a copy waits for the last pass that was given a staged buffer (read), and for nothing that was put into the compute
// stream after it: a pull that arrives while a step computes does not wait for the step.
#ifndef SSD_MODELS_CUDA_MEMORY_H_
#define SSD_MODELS_CUDA_MEMORY_H_

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "models/cuda/runtime.h"
#include "models/device_memory.h"

namespace ssd {

class CudaMemory final : public DeviceMemory, private LocalUpdatePasses {
 public:
  // `runtime` outlives this, and all arrays and buffers made here.
  explicit CudaMemory(CudaRuntime& runtime);
  ~CudaMemory() override;

  std::unique_ptr<DeviceArray> Allocate(int64_t size) override;
  // These two wait for the compute stream, through pinned memory of their own; not for the steady state.
  void Upload(std::span<const float> from, float* to) override;
  void Download(const float* from, std::span<float> to) override;
  void Copy(std::span<const float> from, std::span<float> to) override;
  // Goes on beside the host where `values` lie in pinned memory.
  Buffer Stage(Buffer values) override;
  LocalUpdatePasses& passes() override { return *this; }

  // Buffers in pinned memory: for gradients, and for what is pulled.
  BufferPool& pinned_buffers() { return pinned_; }

 private:
  class Allocator;

  void Sgd(const LocalStep& step, std::span<const float> g, std::span<float> x) override;
  void Glu(const LocalStep& step, std::span<const float> g, std::span<const float> global,
           std::span<float> x) override;
  void Momentum(const LocalStep& step, std::span<const float> g, std::span<float> u,
                std::span<float> x) override;
  void Accumulate(const LocalStep& step, std::span<const float> g, std::span<const float> x,
                  std::span<float> u) override;
  void GluMomentum(const LocalStep& step, std::span<const float> g, std::span<float> v,
                   std::span<float> x) override;
  void GluPrototype(const LocalStep& step, bool renew, std::span<const float> g, std::span<float> snapshot,
                    std::span<float> x) override;
  void DcLocal(const LocalStep& step, std::span<const float> g, std::span<const float> last,
               std::span<float> x) override;
  void InstallDifference(float inverse_passed, std::span<const float> last, std::span<const float> pulled,
                         std::span<float> difference, std::span<float> x) override;
  void InstallCorrection(float inverse_passed, std::span<const float> pulled, std::span<float> u,
                         std::span<float> x) override;

  // Around work of the compute stream that may read staged buffers.
  void BeforeStagedAreRead();
  void AfterStagedAreRead();
  CudaRuntime::Event NewEvent();
  // Lets go of what has been copied by now.
  void ForgetCopied();

  CudaRuntime& runtime_;
  BufferPool staged_pool_;
  BufferPool pinned_;
  const CudaRuntime::Event staged_;
  const CudaRuntime::Event read_;
  bool staged_is_new_ = false;  // since the compute stream last waited for it
  // What is being copied from, until its event has come; and events that are free again.
  std::deque<std::pair<CudaRuntime::Event, Buffer>> copying_;
  std::vector<CudaRuntime::Event> free_events_;
};

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_MEMORY_H_
