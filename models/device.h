// What layers speak to: memory and operations of one device. Devices are sibling folders (models/cpu) with
// the same file names.
#ifndef SSD_MODELS_DEVICE_H_
#define SSD_MODELS_DEVICE_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/functional/any_invocable.h"
#include "models/device_memory.h"
#include "models/operations.h"

namespace ssd {

// Owns an activation's values in a device's memory.
class ActivationArray {
 public:
  virtual ~ActivationArray() = default;
  virtual void* data() const = 0;
};

// A factory of operations. Not thread-safe, but not bound to a thread either: it may be built on one and used
// on another. Outlives what it made. The same operation on the same values gives the same bits, for a fixed
// number of threads.
class Device {
 public:
  virtual ~Device() = default;

  // To be called by a thread before it runs operations, once a pass (the CPU's number of threads is a
  // thread's setting).
  virtual void Enter() = 0;

  virtual DeviceMemory& memory() = 0;
  // `size` values of an activation.
  virtual std::unique_ptr<ActivationArray> AllocateActivation(int64_t size) = 0;
  // An activation's values, for tests.
  virtual void ReadActivation(const void* from, std::span<float> to) = 0;

  // A batch in the device's memory, until the next Load.
  struct Input {
    const void* images;     // an activation
    const int32_t* labels;  // (N)
  };
  virtual Input Load(const Batch& batch) = 0;

  // What this pass' operations are given pointers into as weights. They do not change until the pass has ended.
  virtual void SetParameters(std::span<const float> parameters) = 0;

  // The gradient of a training pass goes to `host` while the pass goes on, and `ready` is called for what has arrived.
  // Returns where the operations are to write it, which is `host` itself where that is the device's memory; both are as large
  // as the parameters.
  virtual std::span<float> BeginGradient(std::span<float> host, Model::GradientReady ready) = 0;
  // It is final from `first` on; calls as for Model::GradientReady.
  virtual void GradientFinal(int64_t first) = 0;
  // Calls `done` when `ready` has been called for all of it and the pass' results may be asked for. REQUIRES:
  // GradientFinal(0) was called.
  virtual void EndGradient(absl::AnyInvocable<void()> done) = 0;

  // Without `input_gradient` the convolution has no BackwardData, and spends no memory on it.
  virtual std::unique_ptr<Convolution> MakeConvolution(const ConvolutionShape& shape,
                                                       bool input_gradient) = 0;
  virtual std::unique_ptr<BatchNorm> MakeBatchNorm(const BatchNormOptions& options, bool relu) = 0;
  // REQUIRES: options.shape has as many channels as `shortcut` or more, and its height and width are the
  // shortcut's divided by one stride, rounded up.
  virtual std::unique_ptr<ResidualNorm> MakeResidualNorm(const BatchNormOptions& options,
                                                         const ActivationShape& shortcut) = 0;
  // Over `size` floats.
  virtual std::unique_ptr<Accumulation> MakeAccumulation(int64_t size) = 0;
  // REQUIRES: 0 <= padding <= kernel / 2; the output has a pixel.
  virtual std::unique_ptr<MaxPool> MakeMaxPool(const PoolShape& shape) = 0;
  virtual std::unique_ptr<GlobalAveragePool> MakeGlobalAveragePool(const ActivationShape& input) = 0;
  virtual std::unique_ptr<Linear> MakeLinear(int64_t batch, int64_t inputs, int64_t outputs) = 0;
  virtual std::unique_ptr<SoftmaxCrossEntropy> MakeSoftmaxCrossEntropy(int64_t batch, int64_t classes) = 0;
};

}  // namespace ssd

#endif  // SSD_MODELS_DEVICE_H_
