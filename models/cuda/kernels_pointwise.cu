#include "models/cuda/functors/pointwise.h"

#include "models/cuda/launch.cuh"

namespace ssd {

template <typename From, typename To>
void LaunchCast(const KernelStream& to, std::span<const From> from, std::span<To> result) {
  CHECK_EQ(from.size(), result.size());
  LaunchElementwise(to, "Cast", Cast(), from.size(), ReadArray{from.data()}, WriteArray{result.data()});
}

template <typename T>
void LaunchUnscale(const KernelStream& to, std::span<const T> scaled, const float* inverse_scale,
                   std::span<float> gradient, int32_t* non_finite) {
  CHECK_EQ(scaled.size(), gradient.size());
  LaunchElementwise(to, "Unscale", Unscale{.inverse_scale = inverse_scale, .non_finite = non_finite},
                    scaled.size(), ReadArray{scaled.data()}, WriteArray{gradient.data()});
}

template <typename T>
void LaunchAccumulate(const KernelStream& to, std::span<const T> x, std::span<T> sum) {
  CHECK_EQ(x.size(), sum.size());
  LaunchElementwise(to, "Accumulate", Accumulate(), x.size(), ReadArray{x.data()}, UpdateArray{sum.data()});
}

template void LaunchCast(const KernelStream&, std::span<const float>, std::span<BFloat16>);
template void LaunchCast(const KernelStream&, std::span<const float>, std::span<Float16>);
template void LaunchCast(const KernelStream&, std::span<const BFloat16>, std::span<float>);
template void LaunchCast(const KernelStream&, std::span<const Float16>, std::span<float>);
template void LaunchUnscale(const KernelStream&, std::span<const float>, const float*, std::span<float>,
                            int32_t*);
template void LaunchUnscale(const KernelStream&, std::span<const BFloat16>, const float*, std::span<float>,
                            int32_t*);
template void LaunchUnscale(const KernelStream&, std::span<const Float16>, const float*, std::span<float>,
                            int32_t*);
template void LaunchAccumulate(const KernelStream&, std::span<const float>, std::span<float>);
template void LaunchAccumulate(const KernelStream&, std::span<const BFloat16>, std::span<BFloat16>);
template void LaunchAccumulate(const KernelStream&, std::span<const Float16>, std::span<Float16>);

}  // namespace ssd
