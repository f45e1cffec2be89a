// One step of a network, over shapes fixed at construction.
//
// A layer's life: the constructor adds its tensors to the layout, in forward order; Build makes its
// operations and memory on a device; then passes run, each Forward before its Backward. Not thread-safe.
#ifndef SSD_MODELS_LAYER_H_
#define SSD_MODELS_LAYER_H_

#include "absl/functional/function_ref.h"
#include "models/device.h"
#include "models/model.h"

namespace ssd {

// The flat vectors of a forward pass. Exactly one of the last two is set.
struct ForwardPass {
  const float* parameters = nullptr;
  float* running_statistics = nullptr;           // training: normalise with the batch's, and renew these
  const float* evaluation_statistics = nullptr;  // evaluation: normalise with these
};

// Of a backward pass. Layers run last to first, and announce their part of the gradient as soon as it is
// final.
struct BackwardPass {
  const float* parameters = nullptr;
  float* gradient = nullptr;
  void* scratch = nullptr;  // as large as the network's largest activation; free between layers
  absl::FunctionRef<void(int64_t first)> ready;  // as Model::GradientReady
};

class Layer {
 public:
  virtual ~Layer() = default;

  virtual ActivationShape output_shape() const = 0;

  // Floats of memory that a pass fills and the layer keeps: its output, and what it has inside.
  virtual int64_t activation_floats() const { return output_shape().size(); }

  // To be called once. `input_gradient`: whether Backward will be asked for dx.
  virtual void Build(Device& device, bool input_gradient) = 0;

  // Returns the output, which the layer owns and keeps until its next Forward.
  virtual const void* Forward(const void* x, const ForwardPass& pass) = 0;

  // Writes the gradient of its parameters, and dx unless that is null. `x` is the last Forward's, still
  // unchanged. `dy` may be overwritten; `dy`, `dx` and `pass.scratch` are three different arrays, each as
  // large as the larger of input and output.
  virtual void Backward(const void* x, void* dy, void* dx, const BackwardPass& pass) = 0;
};

}  // namespace ssd

#endif  // SSD_MODELS_LAYER_H_
