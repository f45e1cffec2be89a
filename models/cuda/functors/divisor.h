// Division of indices by a number that is known before a kernel starts: a multiplication and a shift, where the hardware's
// way takes some twenty instructions. (Granlund and Montgomery 1994, figure 4.1, for 31 bits.)
//
//   const Divisor width(shape.width);
//   const DivisorResult row = width.Divide(pixel);   // row.quotient, row.remainder
#ifndef SSD_MODELS_CUDA_FUNCTORS_DIVISOR_H_
#define SSD_MODELS_CUDA_FUNCTORS_DIVISOR_H_

#include <cstdint>

#include "common/host_device.h"

namespace ssd {

struct DivisorResult {
  uint32_t quotient = 0;
  uint32_t remainder = 0;
};

class Divisor {
 public:
  Divisor() = default;
  // REQUIRES: 1 <= value < 2^31.
  explicit Divisor(int64_t value) : value_(static_cast<uint32_t>(value)) {
    while ((uint64_t{1} << shift_) < value_) ++shift_;
    factor_ = static_cast<uint32_t>((((uint64_t{1} << shift_) - value_) << 32) / value_ + 1);
  }

  SSD_HOST_DEVICE uint32_t value() const { return value_; }

  // REQUIRES: n < 2^31.
  SSD_HOST_DEVICE DivisorResult Divide(uint32_t n) const {
    const auto high = static_cast<uint32_t>((static_cast<uint64_t>(n) * factor_) >> 32);
    const uint32_t quotient = (high + n) >> shift_;
    return {quotient, n - quotient * value_};
  }

 private:
  uint32_t value_ = 1;
  uint32_t factor_ = 1;
  uint32_t shift_ = 0;
};

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_FUNCTORS_DIVISOR_H_
