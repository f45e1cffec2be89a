// In which types a network is computed on a GPU.
#ifndef SSD_MODELS_CUDA_PRECISION_H_
#define SSD_MODELS_CUDA_PRECISION_H_

#include "absl/strings/string_view.h"

namespace ssd {

// Parameters, the gradients that leave a step, batch norm's scale, shift and statistics are float32 in all of
// them. Convolutions add up in float32.
enum class Precision {
  kFloat32,   // activations and products in float32, on the GPU's ordinary units
  kTf32,      // activations in float32; tensor cores read 10 bits of a factor's mantissa
  kBfloat16,  // activations and the convolutions' copy of their weights in bfloat16
  kFloat16,   // the same in float16
};

inline constexpr Precision kPrecisions[] = {Precision::kFloat32, Precision::kTf32, Precision::kBfloat16,
                                            Precision::kFloat16};

constexpr absl::string_view PrecisionName(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return "float32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kBfloat16:
      return "bfloat16";
    case Precision::kFloat16:
      return "float16";
  }
  return "";
}

// Whether activations have 16 bits.
constexpr bool IsHalf(Precision precision) {
  return precision == Precision::kBfloat16 || precision == Precision::kFloat16;
}

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_PRECISION_H_
