// Where a replica's weights lie, and what is done to them there without the host: copies, and the passes of local
// updates.
//
// Pointers and spans are into the device's memory, but for those that are said to be the host's. A call may return before
// its work is done: what is asked for later, the passes over a batch included, finds it done. Not thread-safe, but not
// bound to a thread either.
#ifndef SSD_MODELS_DEVICE_MEMORY_H_
#define SSD_MODELS_DEVICE_MEMORY_H_

#include <cstdint>
#include <memory>
#include <span>

#include "common/buffer.h"
#include "models/local_update_arithmetic.h"

namespace ssd {

// Owns floats in a device's memory.
class DeviceArray {
 public:
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  virtual ~DeviceArray() = default;

  float* data() const { return data_; }
  int64_t size() const { return size_; }
  std::span<float> values() const { return {data_, static_cast<size_t>(size_)}; }

 protected:
  DeviceArray(float* data, int64_t size) : data_(data), size_(size) {}

 private:
  float* const data_;
  const int64_t size_;
};

// One pass over a block each; worker/local_update.h has the formulas' meaning. All spans of a call have one size, and none
// overlap.
class LocalUpdatePasses {
 public:
  virtual ~LocalUpdatePasses() = default;

  // x -= rate (alpha g + lambda x)
  virtual void Sgd(const LocalStep& step, std::span<const float> g, std::span<float> x) = 0;
  // x -= rate (alpha g + beta G + lambda x)
  virtual void Glu(const LocalStep& step, std::span<const float> g, std::span<const float> global,
                   std::span<float> x) = 0;
  // d = g + lambda x;  u = mu u + d;  x -= rate u       (Nesterov: rate (d + mu u))
  virtual void Momentum(const LocalStep& step, std::span<const float> g, std::span<float> u,
                        std::span<float> x) = 0;
  // u = mu u + (g + lambda x), without a step.
  virtual void Accumulate(const LocalStep& step, std::span<const float> g, std::span<const float> x,
                          std::span<float> u) = 0;
  // v = mu v + alpha g + lambda x;  x -= rate v
  virtual void GluMomentum(const LocalStep& step, std::span<const float> g, std::span<float> v,
                           std::span<float> x) = 0;
  // x -= rate (alpha g + beta (snapshot - x) + lambda x);  `renew`: snapshot = x
  virtual void GluPrototype(const LocalStep& step, bool renew, std::span<const float> g,
                            std::span<float> snapshot, std::span<float> x) = 0;
  // x -= rate (alpha g + dc_lambda g g (x - last) + lambda x)
  virtual void DcLocal(const LocalStep& step, std::span<const float> g, std::span<const float> last,
                       std::span<float> x) = 0;
  // difference = (last - pulled) / passed;  x = pulled
  virtual void InstallDifference(float inverse_passed, std::span<const float> last,
                                 std::span<const float> pulled, std::span<float> difference,
                                 std::span<float> x) = 0;
  // u += (x - pulled) / passed;  x = pulled
  virtual void InstallCorrection(float inverse_passed, std::span<const float> pulled, std::span<float> u,
                                 std::span<float> x) = 0;
};

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  // `size` floats, all 0.
  virtual std::unique_ptr<DeviceArray> Allocate(int64_t size) = 0;

  // From the host's memory, and to it. Both return when the copy is there.
  virtual void Upload(std::span<const float> from, float* to) = 0;
  virtual void Download(const float* from, std::span<float> to) = 0;
  // Within the device's memory.
  virtual void Copy(std::span<const float> from, std::span<float> to) = 0;

  // A buffer of the device's memory with the values of this one, which is the host's and is kept until they are there.
  virtual Buffer Stage(Buffer values) = 0;

  virtual LocalUpdatePasses& passes() = 0;
};

}  // namespace ssd

#endif  // SSD_MODELS_DEVICE_MEMORY_H_
