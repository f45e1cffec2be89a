// The host's memory as a device's: every call has done its work when it returns.
#ifndef SSD_MODELS_HOST_MEMORY_H_
#define SSD_MODELS_HOST_MEMORY_H_

#include "models/device_memory.h"

namespace ssd {

// Floats aligned to a cache line, all 0 at first. std::bad_alloc: there is no memory for them.
class AlignedArray final : public DeviceArray {
 public:
  explicit AlignedArray(int64_t size);
  ~AlignedArray() override;
};

// With the passes of models/local_update_pass.h. Has no state.
class HostMemory final : public DeviceMemory, private LocalUpdatePasses {
 public:
  std::unique_ptr<DeviceArray> Allocate(int64_t size) override;
  void Upload(std::span<const float> from, float* to) override;
  void Download(const float* from, std::span<float> to) override;
  void Copy(std::span<const float> from, std::span<float> to) override;
  // The same buffer.
  Buffer Stage(Buffer values) override { return values; }
  LocalUpdatePasses& passes() override { return *this; }

 private:
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
};

}  // namespace ssd

#endif  // SSD_MODELS_HOST_MEMORY_H_
