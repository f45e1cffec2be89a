// A kernel's walk over its items, on the host: the threads of a launch one after the other, the last one first, so that a
// result that depended on their order would differ.
#ifndef SSD_TESTS_MODELS_HOST_LAUNCH_H_
#define SSD_TESTS_MODELS_HOST_LAUNCH_H_

#include <cstdint>
#include <vector>

#include "models/cuda/functors/elementwise.h"
#include "models/cuda/functors/half.h"
#include "models/cuda/launch_shape.h"
#include "tests/testing/deterministic.h"

namespace ssd::testing {

template <typename Body>
void ForEachItem(int64_t items, Body body) {
  const LaunchShape shape = ShapeForItems(items, /*multiprocessors=*/1);
  const int64_t threads = int64_t{shape.blocks} * shape.threads;
  for (int64_t thread = threads - 1; thread >= 0; --thread) {
    for (int64_t item = thread; item < items; item += threads) body(item);
  }
}

// ElementwiseKernel of models/cuda/launch.cuh.
template <typename Operation, typename... Arrays>
void RunElementwise(const Operation& operation, int64_t size, Arrays... arrays) {
  const ElementSplit split = SplitArrays(size, arrays...);
  const auto prepared = PreparedOf(operation);
  ForEachItem(split.items(),
              [&](int64_t item) { ApplyItem<WidthOf<Arrays...>()>(prepared, split, item, arrays...); });
}

// ItemKernel.
template <typename Operation>
void RunItems(const Operation& operation, int64_t items) {
  ForEachItem(items, [&](int64_t item) { operation(static_cast<uint32_t>(item)); });
}

inline std::vector<float> Floats(const std::string& name, int64_t count) {
  const std::vector<double> numbers = Deterministic(name, count);
  return {numbers.begin(), numbers.end()};
}

template <typename T>
std::vector<T> Rounded(const std::vector<float>& values) {
  std::vector<T> rounded;
  for (const float value : values) rounded.push_back(FromFloat<T>(value));
  return rounded;
}

template <typename T>
std::vector<float> Widened(const std::vector<T>& values) {
  std::vector<float> widened;
  for (const T value : values) widened.push_back(ToFloat(value));
  return widened;
}

// The size of T's last place beside 1.
template <typename T>
inline constexpr double kEpsilon = 0x1p-23;
template <>
inline constexpr double kEpsilon<Float16> = 0x1p-10;
template <>
inline constexpr double kEpsilon<BFloat16> = 0x1p-7;

}  // namespace ssd::testing

#endif  // SSD_TESTS_MODELS_HOST_LAUNCH_H_
