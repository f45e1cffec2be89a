#include "models/cuda/functors/shortcut.h"

#include "models/cuda/launch.cuh"

namespace ssd {
namespace {

void CheckShapes(const ActivationShape& output, const ActivationShape& shortcut) {
  const int64_t stride = (shortcut.height + output.height - 1) / output.height;
  CHECK_EQ(output.batch, shortcut.batch);
  CHECK_EQ(output.height, (shortcut.height + stride - 1) / stride);
  CHECK_EQ(output.width, (shortcut.width + stride - 1) / stride);
  CHECK_GE(output.channels, shortcut.channels);
  CHECK_LE(output.size(), std::numeric_limits<int32_t>::max());
}

}  // namespace

template <typename T>
void LaunchShortcut(const KernelStream& to, const ActivationShape& output, const ActivationShape& shortcut,
                    bool relu, const T* x, const T* s, T* y) {
  CheckShapes(output, shortcut);
  const bool fits =
      ShortcutWidth(output, shortcut, kAccessWidth<T>) > 1 && IsAligned(x) && IsAligned(s) && IsAligned(y);
  WithWidth<T>(fits, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    const ShortcutMap map(output, shortcut, kWidth);
    if (relu) return LaunchItems(to, "Shortcut", ShortcutForward<T, kWidth, true>{map, x, s, y}, map.items());
    LaunchItems(to, "Shortcut", ShortcutForward<T, kWidth, false>{map, x, s, y}, map.items());
  });
}

template <typename T>
void LaunchShortcutGradient(const KernelStream& to, const ActivationShape& output,
                            const ActivationShape& shortcut, bool relu, const T* y, T* dy, T* ds) {
  CheckShapes(output, shortcut);
  const bool fits =
      ShortcutWidth(output, shortcut, kAccessWidth<T>) > 1 && IsAligned(y) && IsAligned(dy) && IsAligned(ds);
  WithWidth<T>(fits, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    const ShortcutMap map(output, shortcut, kWidth);
    if (relu) {
      return LaunchItems(to, "ShortcutGradient", ShortcutBackward<T, kWidth, true>{map, y, dy, ds},
                         map.items());
    }
    LaunchItems(to, "ShortcutGradient", ShortcutBackward<T, kWidth, false>{map, y, dy, ds}, map.items());
  });
}

#define SSD_INSTANTIATE(T)                                                                                  \
  template void LaunchShortcut(const KernelStream&, const ActivationShape&, const ActivationShape&, bool,   \
                               const T*, const T*, T*);                                                     \
  template void LaunchShortcutGradient(const KernelStream&, const ActivationShape&, const ActivationShape&, \
                                       bool, const T*, T*, T*);
SSD_INSTANTIATE(float)
SSD_INSTANTIATE(BFloat16)
SSD_INSTANTIATE(Float16)
#undef SSD_INSTANTIATE

}  // namespace ssd
