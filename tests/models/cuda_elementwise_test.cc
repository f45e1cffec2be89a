// Walks over arrays, and the operations value by value: local updates beside the CPU's passes, casts, loss scaling, sums.
#include "models/cuda/functors/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "models/cuda/functors/divisor.h"
#include "models/cuda/functors/pointwise.h"
#include "models/local_update_arithmetic.h"
#include "models/local_update_pass.h"
#include "tests/models/host_launch.h"

namespace ssd {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::Floats;
using testing::RunElementwise;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(ElementSplitTest, GroupsBeginAtMultiplesOf16BytesInAllArrays) {
  const ElementSplit split =
      SplitElements(12, 4, {{.address = 4, .value_bytes = 4}, {.address = 20, .value_bytes = 4}});
  EXPECT_EQ(split.head, 3);
  EXPECT_EQ(split.groups, 2);
  std::vector<int64_t> first;
  for (int64_t item = 0; item < split.items(); ++item) first.push_back(split.First(item));
  EXPECT_THAT(first, ElementsAre(3, 7, 0, 1, 2, 11));
}

TEST(ElementSplitTest, ArraysThatLieAskewHaveNoGroups) {
  EXPECT_EQ(
      SplitElements(100, 4, {{.address = 4, .value_bytes = 4}, {.address = 8, .value_bytes = 4}}).groups, 0);
  // Eight halves are 16 bytes, eight floats 32: 14 + 2 h and 4 + 4 h are multiples of 16 for no h, 14 and 12 for h = 1.
  EXPECT_EQ(
      SplitElements(100, 8, {{.address = 14, .value_bytes = 2}, {.address = 4, .value_bytes = 4}}).groups, 0);
  EXPECT_EQ(
      SplitElements(100, 8, {{.address = 14, .value_bytes = 2}, {.address = 12, .value_bytes = 4}}).head, 1);
}

// Adds 1 to each value that it is called for.
struct Count {
  void operator()(float, float& count) const { count += 1; }
  void operator()(Float16, float& count) const { count += 1; }
};

template <typename T>
void ExpectEachIsVisitedOnce(int64_t size, int64_t x_offset, int64_t y_offset) {
  const std::vector<T> x(size + 16);
  std::vector<float> counts(size + 32, 0.0f);
  RunElementwise(Count(), size, ReadArray{x.data() + x_offset}, UpdateArray{counts.data() + 8 + y_offset});
  for (int64_t i = 0; i < static_cast<int64_t>(counts.size()); ++i) {
    const bool inside = i >= 8 + y_offset && i < 8 + y_offset + size;
    ASSERT_EQ(counts[i], inside ? 1 : 0) << i << " of " << size << " offsets " << x_offset << " " << y_offset;
  }
}

TEST(ElementwiseTest, EachValueIsVisitedOnceWhereverArraysLie) {
  std::vector<int64_t> sizes = {1000, 8191, 8192,
                                8193, 9001, 20'011};  // 2048 threads: up to three items each
  for (int64_t size = 0; size < 40; ++size) sizes.push_back(size);
  for (const int64_t size : sizes) {
    for (int64_t x_offset = 0; x_offset < 8; ++x_offset) {
      for (int64_t y_offset = 0; y_offset < 4; ++y_offset) {
        ExpectEachIsVisitedOnce<float>(size, x_offset, y_offset);
        ExpectEachIsVisitedOnce<Float16>(size, x_offset, y_offset);
      }
    }
  }
}

TEST(DivisorTest, QuotientAndRemainderAreThoseOfTheHardware) {
  std::vector<uint32_t> values = {1, 2, 3, 5, 6, 7, 9, 10, 56, 64, 100, 112, 641, 1000, 65535, 65536, 65537};
  for (const uint32_t value : {0x3fffffffu, 0x40000000u, 0x40000001u, 0x7ffffffeu, 0x7fffffffu})
    values.push_back(value);
  std::vector<uint32_t> numbers = {0, 1, 2, 0x7ffffffe, 0x7fffffff};
  for (uint32_t n = 1; n < 0x7fffffff - 15'485'863; n += 15'485'863) numbers.push_back(n);
  for (const uint32_t value : values) {
    const Divisor divisor(value);
    for (const uint32_t number : numbers) {
      for (const uint32_t n : {number, number / value * value, number / value * value + (value - 1)}) {
        if (n > 0x7fffffff) continue;
        ASSERT_EQ(divisor.Divide(n).quotient, n / value) << n << " / " << value;
        ASSERT_EQ(divisor.Divide(n).remainder, n % value) << n << " / " << value;
      }
    }
  }
}

TEST(LaunchShapeTest, ThreadsFillTheDeviceOnceAndAreNoMoreThanItems) {
  EXPECT_EQ(ShapeForItems(0, 132).blocks, 0) << "nothing to launch";
  EXPECT_EQ(ShapeForItems(1, 132), (LaunchShape{.blocks = 1, .threads = 256}));
  EXPECT_EQ(ShapeForItems(256, 132).blocks, 1);
  EXPECT_EQ(ShapeForItems(257, 132).blocks, 2);
  EXPECT_EQ(ShapeForItems(int64_t{1} << 40, 132).blocks, 132 * 8);
  EXPECT_EQ(ShapeForRows(0, 32, 108).blocks, 0);
  EXPECT_EQ(ShapeForRows(128, 32, 108), (LaunchShape{.blocks = 128, .threads = 32}));
  EXPECT_EQ(ShapeForRows(100'000, 32, 108).blocks, 108 * 32) << "32 blocks to a multiprocessor";
  EXPECT_EQ(ShapeForRows(100'000, 256, 108).blocks, 108 * 8);
}

constexpr LocalStep kStep = {
    .rate = 0.5f, .alpha = 3, .beta = 0.25f, .mu = 0.5f, .lambda = 0.125f, .dc_lambda = 2};

TEST(LocalUpdateArithmeticTest, ByHand) {
  float x = 8, u = 4, snapshot = 16, difference = 0;
  SgdUpdate{kStep}(2, x);
  EXPECT_EQ(x, 4.5f) << "8 - 0.5 (3 * 2 + 0.125 * 8)";
  GluUpdate{kStep}(2, /*global=*/8, x = 8);
  EXPECT_EQ(x, 3.5f) << "the same, and 0.25 * 8";
  MomentumUpdate<false>{kStep}(2, u, x = 8);
  EXPECT_EQ(u, 5) << "0.5 * 4 + (2 + 0.125 * 8)";
  EXPECT_EQ(x, 5.5f) << "8 - 0.5 * 5";
  MomentumUpdate<true>{kStep}(2, u = 4, x = 8);
  EXPECT_EQ(x, 5.25f) << "8 - 0.5 (3 + 0.5 * 5)";
  AccumulateUpdate{kStep}(2, 8, u = 4);
  EXPECT_EQ(u, 5);
  GluMomentumUpdate{kStep}(2, u = 4, x = 8);
  EXPECT_EQ(u, 9) << "0.5 * 4 + 3 * 2 + 0.125 * 8";
  EXPECT_EQ(x, 3.5f) << "8 - 0.5 * 9";
  GluPrototypeUpdate{kStep}(2, snapshot, x = 8);
  EXPECT_EQ(x, 3.5f) << "8 - 0.5 (6 + 0.25 (16 - 8) + 1)";
  GluPrototypeRenewal{{kStep}}(2, snapshot, x = 8);
  EXPECT_EQ(snapshot, 3.5f);
  DcLocalUpdate{kStep}(2, /*last=*/7, x = 8);
  EXPECT_EQ(x, 0.5f) << "8 - 0.5 (6 + 2 * 2 * 2 (8 - 7) + 1)";
  DifferenceInstall{.inverse_passed = 4}(7, 5, difference, x);
  EXPECT_EQ(difference, 8) << "(7 - 5) * 4";
  EXPECT_EQ(x, 5);
  CorrectionInstall{.inverse_passed = 4}(5, u = 1, x = 8);
  EXPECT_EQ(u, 13) << "1 + (8 - 5) * 4";
  EXPECT_EQ(x, 5);
}

// Three arrays before and after a kernel's walk and a CPU's pass.
struct Arrays {
  explicit Arrays(int64_t count)
      : a(Floats("a", count)), b(Floats("b", count)), c(Floats("c", count)), d(count, 9.0f) {}
  // Four floats of each are left out at the front.
  std::vector<float> a, b, c, d;
  std::span<float> A() { return std::span(a).subspan(4); }
  std::span<float> B() { return std::span(b).subspan(4); }
  std::span<float> C() { return std::span(c).subspan(4); }
  std::span<float> D() { return std::span(d).subspan(4); }
};

TEST(LocalUpdateArithmeticTest, TheKernelsWalkGivesTheBitsOfTheCpusPasses) {
  for (const int64_t count : {4, 5, 7, 260, 9001}) {
    LocalStep step = kStep;
    step.rate = 0.3f, step.beta = 0.7f, step.mu = 0.9f, step.lambda = 1e-4f;
    const LocalStep nesterov = [&] {
      LocalStep n = step;
      n.nesterov = true;
      return n;
    }();
    const int64_t n = count - 4;
    using Run = std::function<void(Arrays&)>;
    const auto g = [](Arrays& t) { return ReadArray<float>{t.A().data()}; };
    const auto read = [](std::span<float> values) { return ReadArray<float>{values.data()}; };
    const auto update = [](std::span<float> values) { return UpdateArray{values.data()}; };
    const auto write = [](std::span<float> values) { return WriteArray{values.data()}; };
    const std::pair<Run, Run> pairs[] = {
        {[&](Arrays& t) { RunElementwise(SgdUpdate{step}, n, g(t), update(t.B())); },
         [&](Arrays& t) { SgdPass(step, t.A(), t.B()); }},
        {[&](Arrays& t) { RunElementwise(GluUpdate{step}, n, g(t), read(t.C()), update(t.B())); },
         [&](Arrays& t) { GluPass(step, t.A(), t.C(), t.B()); }},
        {[&](Arrays& t) {
           RunElementwise(MomentumUpdate<false>{step}, n, g(t), update(t.C()), update(t.B()));
         },
         [&](Arrays& t) { MomentumPass(step, t.A(), t.C(), t.B()); }},
        {[&](Arrays& t) {
           RunElementwise(MomentumUpdate<true>{step}, n, g(t), update(t.C()), update(t.B()));
         },
         [&](Arrays& t) { MomentumPass(nesterov, t.A(), t.C(), t.B()); }},
        {[&](Arrays& t) { RunElementwise(AccumulateUpdate{step}, n, g(t), read(t.B()), update(t.C())); },
         [&](Arrays& t) { AccumulatePass(step, t.A(), t.B(), t.C()); }},
        {[&](Arrays& t) { RunElementwise(GluMomentumUpdate{step}, n, g(t), update(t.C()), update(t.B())); },
         [&](Arrays& t) { GluMomentumPass(step, t.A(), t.C(), t.B()); }},
        {[&](Arrays& t) { RunElementwise(GluPrototypeUpdate{step}, n, g(t), read(t.C()), update(t.B())); },
         [&](Arrays& t) { GluPrototypePass(step, false, t.A(), t.C(), t.B()); }},
        {[&](Arrays& t) {
           RunElementwise(GluPrototypeRenewal{{step}}, n, g(t), update(t.C()), update(t.B()));
         },
         [&](Arrays& t) { GluPrototypePass(step, true, t.A(), t.C(), t.B()); }},
        {[&](Arrays& t) { RunElementwise(DcLocalUpdate{step}, n, g(t), read(t.C()), update(t.B())); },
         [&](Arrays& t) { DcLocalPass(step, t.A(), t.C(), t.B()); }},
        {[&](Arrays& t) {
           RunElementwise(DifferenceInstall{0.7f}, n, g(t), read(t.C()), write(t.D()), write(t.B()));
         },
         [&](Arrays& t) { InstallDifferencePass(0.7f, t.A(), t.C(), t.D(), t.B()); }},
        {[&](Arrays& t) { RunElementwise(CorrectionInstall{0.7f}, n, g(t), update(t.C()), update(t.B())); },
         [&](Arrays& t) { InstallCorrectionPass(0.7f, t.A(), t.C(), t.B()); }},
    };
    for (size_t i = 0; i < std::size(pairs); ++i) {
      Arrays walked(count), passed(count);
      pairs[i].first(walked);
      pairs[i].second(passed);
      EXPECT_EQ(walked.a, passed.a) << "pair " << i << " of " << n;
      EXPECT_EQ(walked.b, passed.b) << "pair " << i << " of " << n;
      EXPECT_EQ(walked.c, passed.c) << "pair " << i << " of " << n;
      EXPECT_EQ(walked.d, passed.d) << "pair " << i << " of " << n;
    }
  }
}

template <typename T>
void ExpectCasts() {
  const std::vector<float> values = Floats("cast", 77);
  std::vector<T> narrow(values.size());
  std::vector<float> wide(values.size());
  RunElementwise(Cast(), 77, ReadArray{values.data()}, WriteArray{narrow.data()});
  RunElementwise(Cast(), 77, ReadArray<T>{narrow.data()}, WriteArray{wide.data()});
  EXPECT_EQ(wide, testing::Widened(testing::Rounded<T>(values)));
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(wide[i], values[i], std::abs(values[i]) * testing::kEpsilon<T> / 2);
  }
}

TEST(PointwiseTest, CastsRoundToTheNearest) {
  ExpectCasts<Float16>();
  ExpectCasts<BFloat16>();
}

TEST(PointwiseTest, UnscalingDividesByTheScaleAlsoInPlace) {
  std::vector<float> gradient(1001, 96.0f);
  const float inverse_scale = 1.0f / 64;
  int32_t non_finite = 0;
  const Unscale unscale{.inverse_scale = &inverse_scale, .non_finite = &non_finite};
  RunElementwise(unscale, 1001, ReadArray<float>{gradient.data()}, WriteArray{gradient.data()});
  EXPECT_THAT(gradient, Each(1.5f));
  const std::vector<Float16> halves(1001, FromFloat<Float16>(32));
  RunElementwise(unscale, 1001, ReadArray{halves.data()}, WriteArray{gradient.data()});
  EXPECT_THAT(gradient, Each(0.5f));
  EXPECT_EQ(non_finite, 0);
}

TEST(PointwiseTest, OneNonFiniteGradientIsFoundWhereverItIs) {
  const float inverse_scale = 0.5f;
  for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
    for (size_t place = 0; place < 19; ++place) {
      std::vector<float> gradient(19, 1.0f);
      gradient[place] = bad;
      int32_t non_finite = 0;
      RunElementwise(Unscale{.inverse_scale = &inverse_scale, .non_finite = &non_finite}, 19,
                     ReadArray<float>{gradient.data()}, WriteArray{gradient.data()});
      EXPECT_EQ(non_finite, 1) << bad << " at " << place;
    }
  }
}

TEST(PointwiseTest, SumsAreRoundedOnce) {
  std::vector<float> sum = {1, 2, 3, 4, 5};
  const std::vector<float> x = {10, 20, 30, 40, 50};
  RunElementwise(Accumulate(), 5, ReadArray{x.data()}, UpdateArray{sum.data()});
  EXPECT_THAT(sum, ElementsAre(11, 22, 33, 44, 55));
  BFloat16 brain = FromFloat<BFloat16>(256);
  Accumulate()(FromFloat<BFloat16>(1), brain);
  EXPECT_EQ(ToFloat(brain), 256) << "257 is the middle of 256 and 258";
  Accumulate()(FromFloat<BFloat16>(3), brain);
  EXPECT_EQ(ToFloat(brain), 260) << "259 is the middle of 258 and 260";
}

}  // namespace
}  // namespace ssd
