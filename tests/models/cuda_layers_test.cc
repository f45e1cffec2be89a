// The functors of shortcuts and pools against plain loops in double, in each precision, vectorised and not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "models/cuda/functors/global_average_pool.h"
#include "models/cuda/functors/max_pool.h"
#include "models/cuda/functors/shortcut.h"
#include "tests/models/host_launch.h"
#include "tests/models/reference.h"

namespace ssd {
namespace {

using ::testing::ElementsAre;
using testing::Floats;
using testing::kEpsilon;
using testing::Rounded;
using testing::RunItems;
using testing::Widened;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A type and a width.
template <typename T, int kWidthOfItems>
struct Row {
  using Type = T;
  static constexpr int kWidth = kWidthOfItems;
};

template <typename RowType>
class CudaLayersTest : public ::testing::Test {
 protected:
  using T = typename RowType::Type;
  static constexpr int kWidth = RowType::kWidth;

  // Values that a T holds exactly, so that the references start with the same.
  static std::vector<float> Exact(const std::string& name, int64_t count) {
    return Widened(Rounded<T>(Floats(name, count)));
  }
  // `roundings`: how often a result was rounded to a T.
  static void ExpectNear(const std::vector<T>& actual, const std::vector<double>& expected, int roundings) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const double tolerance = (std::abs(expected[i]) + 1) * (roundings * kEpsilon<T> / 2 + 1e-6);
      ASSERT_NEAR(ToFloat(actual[i]), expected[i], tolerance) << "at " << i << " of " << expected.size();
    }
  }
};

using Rows = ::testing::Types<Row<float, 4>, Row<float, 1>, Row<BFloat16, 8>, Row<BFloat16, 1>,
                              Row<Float16, 8>, Row<Float16, 1>>;
TYPED_TEST_SUITE(CudaLayersTest, Rows);

struct ShortcutCase {
  ActivationShape output, input;
};

// Channels that the width divides; `c` of them are added before and after.
std::vector<ShortcutCase> ShortcutCases(int64_t c) {
  return {{{2, 4, 4, 4 * c}, {2, 8, 8, 2 * c}},  // residual networks'
          {{3, 3, 2, 3 * c}, {3, 5, 3, c}},      // odd sizes
          {{2, 5, 3, 2 * c}, {2, 5, 3, 2 * c}},  // the identity
          {{1, 3, 5, 4 * c}, {1, 3, 5, 2 * c}},  // without a stride
          {{2, 16, 16, 4 * c}, {2, 32, 32, 2 * c}}};
}

TYPED_TEST(CudaLayersTest, ShortcutsMatchPlainLoops) {
  using T = typename TestFixture::T;
  constexpr int kWidth = TestFixture::kWidth;
  for (const auto& [output, input] : ShortcutCases(kWidth)) {
    SCOPED_TRACE(::testing::Message() << output.height << "x" << output.width << "x" << output.channels);
    ASSERT_EQ(ShortcutWidth(output, input, kWidth), kWidth);
    const std::vector<float> x = TestFixture::Exact("x", output.size()),
                             s = TestFixture::Exact("s", input.size());
    std::vector<double> sum = reference::Shortcut(input, output, s);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
    const ShortcutMap map(output, input, kWidth);
    const std::vector<T> from = Rounded<T>(x), added = Rounded<T>(s);
    std::vector<T> y = from;
    RunItems(ShortcutForward<T, kWidth, false>{map, y.data(), added.data(), y.data()}, map.items());
    TestFixture::ExpectNear(y, sum, /*roundings=*/1);
    RunItems(ShortcutForward<T, kWidth, true>{map, from.data(), added.data(), y.data()}, map.items());
    std::vector<double> rectified = sum;
    for (double& value : rectified) value = std::max(value, 0.0);
    TestFixture::ExpectNear(y, rectified, 1);

    // Backward: what y's zeros let through, added to what ds holds.
    const std::vector<float> dy = TestFixture::Exact("dy", output.size());
    const std::vector<float> before = TestFixture::Exact("ds", input.size());
    for (const bool relu : {true, false}) {
      std::vector<float> masked = dy;
      for (size_t i = 0; relu && i < masked.size(); ++i) masked[i] = ToFloat(y[i]) > 0 ? dy[i] : 0;
      std::vector<double> ds = reference::ShortcutGradient(input, output, masked);
      for (size_t i = 0; i < ds.size(); ++i) ds[i] += before[i];
      std::vector<T> gradient = Rounded<T>(dy), to = Rounded<T>(before);
      if (relu) {
        RunItems(ShortcutBackward<T, kWidth, true>{map, y.data(), gradient.data(), to.data()}, map.items());
      } else {
        RunItems(ShortcutBackward<T, kWidth, false>{map, nullptr, gradient.data(), to.data()}, map.items());
      }
      EXPECT_EQ(Widened(gradient), masked);
      TestFixture::ExpectNear(to, ds, 1);
    }
  }
}

TEST(ShortcutTest, ByHand) {
  // A row of two pixels of one channel becomes one pixel of three: 0, the first pixel, 0.
  const ShortcutMap map({1, 1, 1, 3}, {1, 1, 2, 1}, 1);
  const float x[] = {1, 2, -30}, s[] = {10, 20};
  float y[3], dy[] = {5, 6, 7}, ds[] = {100, 200};
  RunItems(ShortcutForward<float, 1, true>{map, x, s, y}, 3);
  EXPECT_THAT(y, ElementsAre(1, 12, 0));
  RunItems(ShortcutBackward<float, 1, true>{map, y, dy, ds}, 3);
  EXPECT_THAT(dy, ElementsAre(5, 6, 0));
  EXPECT_THAT(ds, ElementsAre(106, 200));
}

TEST(ShortcutTest, GroupsMustFitWhatIsBeforeTheChannelsToo) {
  EXPECT_EQ(ShortcutWidth({1, 4, 4, 32}, {1, 8, 8, 16}, 8), 8);
  EXPECT_EQ(ShortcutWidth({1, 4, 4, 24}, {1, 8, 8, 16}, 8), 1) << "four channels before";
  EXPECT_EQ(ShortcutWidth({1, 4, 4, 24}, {1, 8, 8, 16}, 4), 4);
  EXPECT_EQ(ShortcutWidth({1, 4, 4, 10}, {1, 4, 4, 10}, 4), 1);
}

TEST(ShortcutTest, NansPassBothWays) {
  const ShortcutMap map({1, 1, 1, 2}, {1, 1, 1, 2}, 1);
  const float x[] = {kNan, -1}, s[] = {0, kNan};
  float y[2], dy[] = {3, 4}, ds[] = {0, 0};
  RunItems(ShortcutForward<float, 1, true>{map, x, s, y}, 2);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  RunItems(ShortcutBackward<float, 1, true>{map, y, dy, ds}, 2);
  EXPECT_THAT(ds, ElementsAre(3, 4));
}

std::vector<PoolShape> PoolShapes(int64_t c) {
  return {{.input = {2, 16, 16, 2 * c}, .kernel = 3, .stride = 2, .padding = 1},  // residual networks'
          {.input = {3, 9, 7, 3 * c}, .kernel = 3, .stride = 2, .padding = 1},
          {.input = {1, 8, 11, c}, .kernel = 3, .stride = 2, .padding = 0},
          {.input = {2, 6, 6, c}, .kernel = 2, .stride = 2, .padding = 0},
          {.input = {1, 7, 10, c}, .kernel = 5, .stride = 3, .padding = 2},
          {.input = {2, 5, 4, c}, .kernel = 3, .stride = 1, .padding = 1},
          {.input = {1, 13, 12, c}, .kernel = 2, .stride = 3, .padding = 1},  // pixels that are in no window
          {.input = {2, 1, 1, c}, .kernel = 3, .stride = 2, .padding = 1},
          {.input = {1, 30, 31, c}, .kernel = 15, .stride = 4, .padding = 7}};
}

template <typename T, int kWidth>
void Pool(const PoolShape& shape, const std::vector<T>& x, const std::vector<T>& dy, std::vector<T>& y,
          std::vector<T>& dx) {
  const ChannelGroups input(shape.input, kWidth), output(shape.output(), kWidth);
  const PoolWindow window{.kernel = static_cast<int>(shape.kernel),
                          .stride = static_cast<int>(shape.stride),
                          .padding = static_cast<int>(shape.padding)};
  std::vector<uint8_t> which(shape.output().size(), 0xff);
  y.assign(shape.output().size(), FromFloat<T>(1e4f));
  dx.assign(shape.input.size(), FromFloat<T>(1e4f));
  RunItems(MaxPoolForward<T, kWidth>{input, output, window, x.data(), y.data(), which.data()},
           output.items());
  RunItems(MaxPoolBackward<T, kWidth>{input, output, window, dy.data(), which.data(), dx.data()},
           input.items());
}

TYPED_TEST(CudaLayersTest, MaxPoolsMatchPlainLoops) {
  using T = typename TestFixture::T;
  for (const PoolShape& shape : PoolShapes(TestFixture::kWidth)) {
    SCOPED_TRACE(::testing::Message()
                 << shape.input.height << "x" << shape.input.width << "x" << shape.input.channels
                 << " kernel " << shape.kernel << " stride " << shape.stride);
    std::vector<float> x = Floats("x", shape.input.size());
    // Below 0, or the padding's zeros would win; in steps, so that there are equal ones.
    for (float& value : x) value = std::floor(value * 8) / 8 - 1.5f;
    const std::vector<float> dy = TestFixture::Exact("dy", shape.output().size());
    std::vector<T> y, dx;
    Pool<T, TestFixture::kWidth>(shape, Rounded<T>(x), Rounded<T>(dy), y, dx);
    const reference::MaxPoolResult expected = reference::MaxPool(shape, x, dy);
    TestFixture::ExpectNear(y, expected.y, /*roundings=*/0);
    TestFixture::ExpectNear(dx, expected.dx, /*roundings=*/2);
  }
}

TEST(MaxPoolTest, TheFirstOfEqualValuesWinsAndANanWinsOverAll) {
  const PoolShape shape{.input = {1, 1, 5, 1}, .kernel = 3, .stride = 2, .padding = 1};
  std::vector<float> y, dx;
  // Windows: (-, a, b), (b, c, d), (d, e, -). Rows of padding above and below do not count.
  Pool<float, 1>(shape, {7, 7, -1, 7, 7}, {1, 10, 100}, y, dx);
  EXPECT_THAT(y, ElementsAre(7, 7, 7));
  EXPECT_THAT(dx, ElementsAre(1, 10, 0, 100, 0));
  Pool<float, 1>(shape, {7, kNan, kNan, 9, -INFINITY}, {1, 10, 100}, y, dx);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_THAT(dx, ElementsAre(0, 11, 0, 100, 0));
  Pool<float, 1>(shape, std::vector<float>(5, -INFINITY), {1, 10, 100}, y, dx);
  EXPECT_THAT(dx, ElementsAre(1, 10, 0, 100, 0));
}

TYPED_TEST(CudaLayersTest, GlobalAveragePoolsMatchPlainLoops) {
  using T = typename TestFixture::T;
  constexpr int kWidth = TestFixture::kWidth;
  for (const ActivationShape& shape :
       {ActivationShape{2, 8, 8, 4 * kWidth}, ActivationShape{3, 7, 7, 3 * kWidth},
        ActivationShape{5, 1, 1, kWidth}, ActivationShape{1, 3, 2, kWidth}}) {
    const int64_t pixels = shape.height * shape.width;
    const std::vector<float> x = TestFixture::Exact("x", shape.size());
    const std::vector<float> dy = TestFixture::Exact("dy", shape.batch * shape.channels);
    std::vector<double> mean(shape.batch * shape.channels), gradient(shape.size());
    for (int64_t i = 0; i < shape.size(); ++i) {
      const int64_t to = i / (pixels * shape.channels) * shape.channels + i % shape.channels;
      mean[to] += static_cast<double>(x[i]) / static_cast<double>(pixels);
      gradient[i] = static_cast<double>(dy[to]) / static_cast<double>(pixels);
    }
    const std::vector<T> from = Rounded<T>(x), from_dy = Rounded<T>(dy);
    std::vector<T> y(mean.size()), dx(gradient.size());
    const Divisor groups(shape.channels / kWidth);
    const GlobalAveragePoolForward<T, kWidth> forward{
        .groups = groups, .pixels = static_cast<int>(pixels), .x = from.data(), .y = y.data()};
    // As the kernel: the lanes' sums stand `stride` apart.
    const int stride = 3;
    RunItems(
        [&](uint32_t item) {
          std::vector<Lanes<float, kWidth>> sums(kPoolLanes * stride);
          for (int lane = 0; lane < kPoolLanes; ++lane) sums[lane * stride + 1] = forward.LaneSum(item, lane);
          forward.Write(item, sums.data() + 1, stride);
        },
        static_cast<int64_t>(mean.size()) / kWidth);
    TestFixture::ExpectNear(y, mean, /*roundings=*/1);
    RunItems(GlobalAveragePoolBackward<T, kWidth>{groups, Divisor(pixels), from_dy.data(), dx.data()},
             shape.size() / kWidth);
    TestFixture::ExpectNear(dx, gradient, 1);
  }
}

}  // namespace
}  // namespace ssd
