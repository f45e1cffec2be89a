// The operations that a device offers, each made once by a Device for fixed shapes.
//
// Activations are (N, H, W, C), and `void*`: what their values are is the device's choice (the CPU's are float32). All else is
// float32; convolution weights are (O, H, W, I). Pointers are into the device's memory, and a call may return before its work
// is done: what is asked for later finds it done. Not thread-safe; the operations of one device share its scratch memory, so that one runs at a time.
// A run allocates nothing. What an operation remembers from forward to backward is said where it does.
#ifndef SSD_MODELS_OPERATIONS_H_
#define SSD_MODELS_OPERATIONS_H_

#include <cstdint>

#include "models/model.h"

namespace ssd {

struct ActivationShape {
  int64_t batch = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;

  int64_t size() const { return batch * height * width * channels; }
  bool operator==(const ActivationShape&) const = default;
};

// A square kernel over an input padded with zeros.
struct ConvolutionShape {
  ActivationShape input;
  int64_t outputs = 0;  // output channels, O
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;

  int64_t weights_size() const { return outputs * kernel * kernel * input.channels; }
  ActivationShape output() const {
    return {.batch = input.batch,
            .height = (input.height + 2 * padding - kernel) / stride + 1,
            .width = (input.width + 2 * padding - kernel) / stride + 1,
            .channels = outputs};
  }
};

// A convolution without bias.
class Convolution {
 public:
  virtual ~Convolution() = default;

  virtual void Forward(const void* x, const float* weights, void* y) = 0;
  // REQUIRES: made with input_gradient.
  virtual void BackwardData(const float* weights, const void* dy, void* dx) = 0;
  virtual void BackwardWeights(const void* x, const void* dy, float* dweights) = 0;
};

struct BatchNormOptions {
  ActivationShape shape;
  double epsilon = 1e-5;
  float momentum = 0.1f;  // PyTorch's: running = (1 - momentum) running + momentum batch
};

// Batch normalisation over N, H and W (Ioffe and Szegedy 2015), if wanted with the ReLU that follows it:
// y = (x - mean) / sqrt(variance + epsilon) * scale + shift, or the larger of that and 0.
//
// As in PyTorch the running variance is the unbiased one, n / (n - 1) times what normalises. Over a single
// value there is no unbiased variance, and the biased one, which is 0, takes its place.
class BatchNorm {
 public:
  virtual ~BatchNorm() = default;

  // Normalises with the batch's statistics, remembers them for Backward, and moves the running ones (C each)
  // to them.
  virtual void TrainingForward(const void* x, const float* scale, const float* shift, void* y,
                               float* running_mean, float* running_variance) = 0;
  // Normalises with the statistics given. Leaves what Backward remembers alone.
  virtual void InferenceForward(const void* x, const float* scale, const float* shift, const float* mean,
                                const float* variance, void* y) = 0;
  // `x`, `scale` and `shift` are those of the last TrainingForward. `dx` may be `dy`.
  virtual void Backward(const void* x, const float* scale, const float* shift, const void* dy, void* dx,
                        float* dscale, float* dshift) = 0;
};

// The end of a residual block: y = max(0, batch norm of x + shortcut(s)).
//
// Between equal shapes the shortcut is the identity. Else it is shortcut A of He et al. 2015: it takes every
// stride-th row and column of s, and adds channels of zeros, half (rounded down) before and the rest after
// those of s.
class ResidualNorm {
 public:
  virtual ~ResidualNorm() = default;

  // As BatchNorm's.
  virtual void TrainingForward(const void* x, const void* s, const float* scale, const float* shift, void* y,
                               float* running_mean, float* running_variance) = 0;
  virtual void InferenceForward(const void* x, const void* s, const float* scale, const float* shift,
                                const float* mean, const float* variance, void* y) = 0;
  // Sets dy to 0 where y, the last TrainingForward's, is 0, and continues to batch norm's gradients. `dx` is
  // not `dy`.
  virtual void Backward(const void* x, const float* scale, const float* shift, const void* y, void* dy,
                        void* dx, float* dscale, float* dshift) = 0;
  // ds += shortcut^T(dy), with the dy that Backward left.
  virtual void AddShortcutGradient(const void* dy, void* ds) = 0;
};

// sum += x, value by value.
class Accumulation {
 public:
  virtual ~Accumulation() = default;

  virtual void Add(const void* x, void* sum) = 0;
};

// Square windows over an input, which the padding never wins.
struct PoolShape {
  ActivationShape input;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;  // at most kernel / 2, or a window could lie outside

  ActivationShape output() const {
    return {.batch = input.batch,
            .height = (input.height + 2 * padding - kernel) / stride + 1,
            .width = (input.width + 2 * padding - kernel) / stride + 1,
            .channels = input.channels};
  }
};

// The largest value of each window; of equal ones the first, by rows.
class MaxPool {
 public:
  virtual ~MaxPool() = default;

  // Remembers for Backward where each output came from.
  virtual void Forward(const void* x, void* y) = 0;
  virtual void Backward(const void* dy, void* dx) = 0;
};

// The mean over H and W: (N, H, W, C) to (N, C).
class GlobalAveragePool {
 public:
  virtual ~GlobalAveragePool() = default;

  virtual void Forward(const void* x, void* y) = 0;
  virtual void Backward(const void* dy, void* dx) = 0;
};

// y = x W^T + b, with x (N, I), W (O, I), b (O). A classifier: y is float32 on all devices, dy an activation.
class Linear {
 public:
  virtual ~Linear() = default;

  virtual void Forward(const void* x, const float* weights, const float* bias, float* y) = 0;
  virtual void BackwardData(const float* weights, const void* dy, void* dx) = 0;
  virtual void BackwardWeights(const void* x, const void* dy, float* dweights, float* dbias) = 0;
};

// The cross entropy of softmax(logits), logits (N, C).
class SoftmaxCrossEntropy {
 public:
  virtual ~SoftmaxCrossEntropy() = default;

  // Sums over the first `valid` samples; a sample whose logits hold a NaN is not correct, and of equal logits
  // the first counts as the largest. REQUIRES: N labels, the first `valid` in [0, C).
  virtual void Forward(const float* logits, const int32_t* labels, int64_t valid) = 0;
  // Of the last Forward, for which it waits.
  virtual BatchResult Result() = 0;
  // dlogits = (softmax(logits) - onehot(labels)) / N, the gradient of the mean loss over the batch.
  virtual void Backward(const float* logits, const int32_t* labels, void* dlogits) = 0;
};

}  // namespace ssd

#endif  // SSD_MODELS_OPERATIONS_H_
