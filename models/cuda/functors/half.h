// The 16-bit floats of a GPU as plain bits, and their way to and from float: to the nearest, of two equally near ones to
// the even, beyond the largest to infinity; denormals are kept.
//
// On a GPU one instruction each (cvt.rn, which wants sm_80), on the host the same in integers; both make every NaN of a
// float to 0x7fff. To float all conversions are exact, and a NaN stays one, with a payload that nobody promises.
#ifndef SSD_MODELS_CUDA_FUNCTORS_HALF_H_
#define SSD_MODELS_CUDA_FUNCTORS_HALF_H_

#include <cstdint>
#include <cstring>

#include "common/host_device.h"

namespace ssd {

// IEEE binary16: 5 bits of exponent, 10 of mantissa; up to 65504, normal from 2^-14, down to 2^-24.
struct Float16 {
  uint16_t bits;
};

// The upper half of a float: 8 bits of exponent, 7 of mantissa.
struct BFloat16 {
  uint16_t bits;
};

SSD_HOST_DEVICE inline uint32_t BitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

SSD_HOST_DEVICE inline float FloatOf(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// Also where the compiler was told that there are no NaNs.
SSD_HOST_DEVICE inline bool IsFinite(float value) { return (BitsOf(value) & 0x7f800000u) != 0x7f800000u; }

SSD_HOST_DEVICE inline float ToFloat(float value) { return value; }

SSD_HOST_DEVICE inline float ToFloat(BFloat16 value) {
  return FloatOf(static_cast<uint32_t>(value.bits) << 16);
}

SSD_HOST_DEVICE inline float ToFloat(Float16 value) {
#ifdef __CUDA_ARCH__
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
#else
  const uint32_t sign = (value.bits & 0x8000u) << 16;
  const uint32_t exponent = (value.bits >> 10) & 31u;
  const uint32_t mantissa = value.bits & 0x3ffu;
  if (exponent == 31) return FloatOf(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) return FloatOf(sign | BitsOf(static_cast<float>(mantissa) * 0x1p-24f));
  return FloatOf(sign | (exponent + 112) << 23 | mantissa << 13);
#endif
}

// FromFloat<T>(value): a float as a T.
template <typename T>
SSD_HOST_DEVICE inline T FromFloat(float value);

template <>
SSD_HOST_DEVICE inline float FromFloat<float>(float value) {
  return value;
}

template <>
SSD_HOST_DEVICE inline BFloat16 FromFloat<BFloat16>(float value) {
  BFloat16 result;
#ifdef __CUDA_ARCH__
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
#else
  const uint32_t bits = BitsOf(value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  // Half of the last place, less a bit where the place is even: a carry goes into the exponent as it should.
  result.bits = is_nan ? 0x7fff : static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#endif
  return result;
}

template <>
SSD_HOST_DEVICE inline Float16 FromFloat<Float16>(float value) {
  Float16 result;
#ifdef __CUDA_ARCH__
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
#else
  const uint32_t sign = (BitsOf(value) >> 16) & 0x8000u;
  const uint32_t magnitude = BitsOf(value) & 0x7fffffffu;
  uint32_t bits = 0;
  if (magnitude > 0x7f800000u) {
    result.bits = 0x7fff;
    return result;
  }
  if (magnitude >= 0x477ff000u) {  // 65520, half way between the largest and what would be next
    bits = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // 2^-14, the smallest normal one
    bits = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  } else if (magnitude >= 0x33000000u) {        // 2^-25, half of the smallest; below, all is 0
    const uint32_t exponent = magnitude >> 23;  // 102..112: the last place of the result is 2^-24
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t drop = 126u - exponent;  // 14..24 bits
    const uint32_t kept = mantissa >> drop;
    const uint32_t rest = mantissa & ((1u << drop) - 1u);
    const uint32_t half = 1u << (drop - 1);
    bits = kept + (rest > half || (rest == half && (kept & 1u) != 0) ? 1u : 0u);
  }
  result.bits = static_cast<uint16_t>(sign | bits);
#endif
  return result;
}

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_FUNCTORS_HALF_H_
