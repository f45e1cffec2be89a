// Where each named tensor lies in a flat vector of floats.
#ifndef SSD_COMMON_PARAMETER_LAYOUT_H_
#define SSD_COMMON_PARAMETER_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ssd {

// `shape` is the one PyTorch shows. A tensor of four dimensions is a convolution's weight: its shape is (O, I, H, W),
// and its values lie in the order (O, H, W, I), what oneDNN and cuDNN want beside NHWC activations.
struct TensorSpec {
  std::string name;
  std::vector<int64_t> shape;
  int64_t offset = 0;  // in floats
  int64_t size = 0;    // in floats

  bool operator==(const TensorSpec&) const = default;
};

// Tensors one after the other, without gaps. A value type.
class ParameterLayout {
 public:
  // Appends a tensor and returns its index. REQUIRES: a new name, no negative dimension.
  int Add(absl::string_view name, std::vector<int64_t> shape);

  const std::vector<TensorSpec>& tensors() const { return tensors_; }
  int64_t size() const { return size_; }  // in floats

  // The tensor that holds the float at `offset`. REQUIRES: 0 <= offset < size().
  const TensorSpec& TensorAt(int64_t offset) const;

  bool operator==(const ParameterLayout&) const = default;

 private:
  std::vector<TensorSpec> tensors_;
  int64_t size_ = 0;
};

// A model has two vectors: the parameters in forward order, which are trained, and the buffers, which are the running
// statistics of batch norm ("bn1.running_mean", "bn1.running_var", ...).
struct ModelLayout {
  ParameterLayout parameters;
  ParameterLayout buffers;

  bool operator==(const ModelLayout&) const = default;
};

}  // namespace ssd

#endif  // SSD_COMMON_PARAMETER_LAYOUT_H_
