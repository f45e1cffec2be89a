#include "common/parameter_layout.h"

#include <algorithm>

#include "common/logging.h"

namespace ssd {

int ParameterLayout::Add(absl::string_view name, std::vector<int64_t> shape) {
  TensorSpec tensor{.name = std::string(name), .shape = std::move(shape), .offset = size_, .size = 1};
  for (int64_t dimension : tensor.shape) {
    CHECK_GE(dimension, 0) << tensor.name;
    tensor.size *= dimension;
  }
  for (const TensorSpec& other : tensors_) CHECK(other.name != tensor.name) << "two tensors named " << tensor.name;
  size_ += tensor.size;
  tensors_.push_back(std::move(tensor));
  return static_cast<int>(tensors_.size()) - 1;
}

const TensorSpec& ParameterLayout::TensorAt(int64_t offset) const {
  CHECK(0 <= offset && offset < size_) << offset;
  const auto after = std::upper_bound(tensors_.begin(), tensors_.end(), offset,
                                      [](int64_t at, const TensorSpec& tensor) { return at < tensor.offset; });
  return *(after - 1);
}

}  // namespace ssd
