// 16-bit floats, for all of their values and at every place where rounding turns.
#include "models/cuda/functors/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ssd {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

uint16_t Half(float value) { return FromFloat<Float16>(value).bits; }
uint16_t Brain(float value) { return FromFloat<BFloat16>(value).bits; }

// What the bits of a 16-bit float say, by the definition of IEEE 754.
double Meaning(uint16_t bits, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa != 0 ? kNan : sign * kInfinity;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

template <typename T>
void ExpectAllValuesAreWhatTheirBitsSay(int mantissa_bits) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const T value{static_cast<uint16_t>(bits)};
    const double meaning = Meaning(value.bits, mantissa_bits);
    if (std::isnan(meaning)) {
      ASSERT_TRUE(std::isnan(ToFloat(value))) << std::hex << bits;
      ASSERT_EQ(FromFloat<T>(ToFloat(value)).bits, 0x7fff) << std::hex << bits;
      continue;
    }
    ASSERT_EQ(ToFloat(value), meaning) << std::hex << bits;
    ASSERT_EQ(std::signbit(ToFloat(value)), (bits & 0x8000) != 0) << std::hex << bits;
    ASSERT_EQ(FromFloat<T>(ToFloat(value)).bits, bits) << std::hex << bits;
  }
}

TEST(CudaHalfTest, AllValuesAreWhatTheirBitsSayAndComeBack) {
  ExpectAllValuesAreWhatTheirBitsSay<Float16>(10);
  ExpectAllValuesAreWhatTheirBitsSay<BFloat16>(7);
}

// Between each two neighbours: the middle goes to the even one, what is beside it to the nearer one.
template <typename T>
void ExpectRoundingTurnsInTheMiddle(int mantissa_bits, uint16_t infinity, double beyond_largest) {
  for (uint32_t bits = 0; bits < infinity; ++bits) {
    const double low = Meaning(static_cast<uint16_t>(bits), mantissa_bits);
    const double high =
        bits + 1 == infinity ? beyond_largest : Meaning(static_cast<uint16_t>(bits + 1), mantissa_bits);
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(middle, (low + high) / 2) << "is a float";
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    for (const float sign : {1.0f, -1.0f}) {
      const uint32_t sign_bit = sign < 0 ? 0x8000 : 0;
      ASSERT_EQ(FromFloat<T>(sign * middle).bits, even | sign_bit) << std::hex << bits;
      ASSERT_EQ(FromFloat<T>(sign * std::nextafter(middle, 0.0f)).bits, bits | sign_bit) << std::hex << bits;
      ASSERT_EQ(FromFloat<T>(sign * std::nextafter(middle, kInfinity)).bits, (bits + 1) | sign_bit)
          << std::hex << bits;
    }
  }
}

TEST(CudaHalfTest, RoundingTurnsInTheMiddleOfEachTwoNeighbours) {
  ExpectRoundingTurnsInTheMiddle<Float16>(10, 0x7c00, 0x1p16);
  ExpectRoundingTurnsInTheMiddle<BFloat16>(7, 0x7f80, 0x1p128);
}

TEST(CudaHalfTest, Float16ByHand) {
  EXPECT_EQ(Half(1), 0x3c00);
  EXPECT_EQ(Half(-2), 0xc000);
  EXPECT_EQ(Half(0x1.004p0f), 0x3c01) << "the next after 1";
  EXPECT_EQ(Half(0x1.002p0f), 0x3c00) << "the middle, to the even one";
  EXPECT_EQ(Half(0x1.006p0f), 0x3c02) << "the middle, to the even one";
  EXPECT_EQ(Half(65504), 0x7bff) << "the largest";
  EXPECT_EQ(Half(65519.996f), 0x7bff);
  EXPECT_EQ(Half(65520), 0x7c00) << "infinity";
  EXPECT_EQ(Half(3e38f), 0x7c00);
  EXPECT_EQ(Half(-kInfinity), 0xfc00);
  EXPECT_EQ(Half(0x1p-14f), 0x0400) << "the smallest normal one";
  EXPECT_EQ(Half(0x1.ff8p-15f), 0x0400 - 1) << "the largest denormal";
  EXPECT_EQ(Half(0x1.ffcp-15f), 0x0400) << "the middle; the carry makes it normal";
  EXPECT_EQ(Half(0x1p-24f), 0x0001) << "the smallest";
  EXPECT_EQ(Half(0x1p-25f), 0x0000) << "its half, to the even one";
  EXPECT_EQ(Half(0x1.000002p-25f), 0x0001);
  EXPECT_EQ(Half(0x1.8p-24f), 0x0002) << "one and a half, to the even one";
  EXPECT_EQ(Half(-1e-45f), 0x8000) << "a float's denormal: -0";
  EXPECT_EQ(Half(-0.0f), 0x8000);
}

TEST(CudaHalfTest, BFloat16ByHand) {
  EXPECT_EQ(Brain(1), 0x3f80);
  EXPECT_EQ(Brain(-0.5f), 0xbf00);
  EXPECT_EQ(Brain(0x1.01p0f), 0x3f80) << "the middle, to the even one";
  EXPECT_EQ(Brain(0x1.03p0f), 0x3f82) << "the middle, to the even one";
  EXPECT_EQ(Brain(0x1.010002p0f), 0x3f81);
  EXPECT_EQ(Brain(3.4e38f), 0x7f80) << "beyond the largest, 3.39e38";
  EXPECT_EQ(Brain(kInfinity), 0x7f80);
  EXPECT_EQ(Brain(1e-45f), 0x0000);
  EXPECT_EQ(Brain(0x1p-133f), 0x0001) << "the smallest denormal";
  EXPECT_EQ(Brain(-0.0f), 0x8000);
}

TEST(CudaHalfTest, EveryNanBecomesTheSame) {
  for (const uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0x7fffffffu, 0xff812345u}) {
    EXPECT_EQ(Half(FloatOf(bits)), 0x7fff) << std::hex << bits;
    EXPECT_EQ(Brain(FloatOf(bits)), 0x7fff) << std::hex << bits;
  }
}

TEST(CudaHalfTest, FiniteIsWhatIsNeitherInfinityNorNan) {
  for (const float value : {0.0f, -1.0f, 3.4028235e38f, 1e-45f}) EXPECT_TRUE(IsFinite(value)) << value;
  for (const float value : {kInfinity, -kInfinity, kNan, -kNan}) EXPECT_FALSE(IsFinite(value)) << value;
}

}  // namespace
}  // namespace ssd
