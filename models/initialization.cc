#include "models/initialization.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "common/logging.h"
#include "common/splitmix64.h"

namespace ssd {
namespace {

uint64_t Fnv1a64(absl::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

// The sequence of one tensor.
class Generator {
 public:
  Generator(uint64_t seed, absl::string_view name)
      : key_(SplitMix64Mix(seed + kSplitMix64Step) ^ Fnv1a64(name)) {}

  double Uniform(uint64_t i) const { return 2 * Unit(2 * i) - 1; }
  double Normal(uint64_t i) const {
    return std::sqrt(-2 * std::log(1 - Unit(2 * i))) * std::cos(2 * std::numbers::pi * Unit(2 * i + 1));
  }

 private:
  double Unit(uint64_t j) const {
    return static_cast<double>(SplitMix64Mix(key_ + (j + 1) * kSplitMix64Step) >> 11) * 0x1p-53;
  }

  const uint64_t key_;
};

// The number of inputs of the linear layer that has this bias; 0 if it is batch norm's.
int64_t LinearInputs(const ParameterLayout& layout, const TensorSpec& bias) {
  const std::string weight = std::string(absl::StripSuffix(bias.name, "bias")) + "weight";
  for (const TensorSpec& tensor : layout.tensors()) {
    if (tensor.name == weight && tensor.shape.size() == 2) return tensor.shape[1];
  }
  return 0;
}

void FillParameter(const ParameterLayout& layout, const TensorSpec& tensor, uint64_t seed,
                   std::span<float> values) {
  const Generator generator(seed, tensor.name);
  const auto fill_uniform = [&](int64_t inputs) {
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(bound * generator.Uniform(i));
  };
  if (tensor.shape.size() == 4) {
    const auto fan_out = static_cast<double>(tensor.shape[0] * tensor.shape[2] * tensor.shape[3]);
    const double deviation = std::sqrt(2 / fan_out);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(deviation * generator.Normal(i));
  } else if (tensor.shape.size() == 2) {
    fill_uniform(tensor.shape[1]);
  } else if (absl::EndsWith(tensor.name, ".weight")) {
    std::fill(values.begin(), values.end(), 1.0f);
  } else if (const int64_t inputs = LinearInputs(layout, tensor); inputs > 0) {
    fill_uniform(inputs);
  } else {
    std::fill(values.begin(), values.end(), 0.0f);
  }
}

}  // namespace

void InitializeParameters(const ModelLayout& layout, uint64_t seed, std::span<float> parameters,
                          std::span<float> buffers) {
  CHECK_EQ(static_cast<int64_t>(parameters.size()), layout.parameters.size());
  CHECK_EQ(static_cast<int64_t>(buffers.size()), layout.buffers.size());
  for (const TensorSpec& tensor : layout.parameters.tensors()) {
    FillParameter(layout.parameters, tensor, seed, parameters.subspan(tensor.offset, tensor.size));
  }
  for (const TensorSpec& tensor : layout.buffers.tensors()) {
    const auto values = buffers.subspan(tensor.offset, tensor.size);
    std::fill(values.begin(), values.end(), absl::EndsWith(tensor.name, ".running_var") ? 1.0f : 0.0f);
  }
}

}  // namespace ssd
