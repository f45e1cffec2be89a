#include "models/local_update_pass.h"

#include <cstddef>

namespace ssd {
namespace {

// The loop works on a copy of the numbers and on pointers that do not alias, so that compilers vectorise it.
template <typename Update, typename... Values>
void Pass(const Update update, size_t size, Values* __restrict... arrays) {
  for (size_t i = 0; i < size; ++i) update(arrays[i]...);
}

}  // namespace

void SgdPass(const LocalStep& step, std::span<const float> g, std::span<float> x) {
  Pass(SgdUpdate{step}, x.size(), g.data(), x.data());
}

void GluPass(const LocalStep& step, std::span<const float> g, std::span<const float> global,
             std::span<float> x) {
  Pass(GluUpdate{step}, x.size(), g.data(), global.data(), x.data());
}

void MomentumPass(const LocalStep& step, std::span<const float> g, std::span<float> u, std::span<float> x) {
  if (step.nesterov) return Pass(MomentumUpdate<true>{step}, x.size(), g.data(), u.data(), x.data());
  Pass(MomentumUpdate<false>{step}, x.size(), g.data(), u.data(), x.data());
}

void AccumulatePass(const LocalStep& step, std::span<const float> g, std::span<const float> x,
                    std::span<float> u) {
  Pass(AccumulateUpdate{step}, u.size(), g.data(), x.data(), u.data());
}

void GluMomentumPass(const LocalStep& step, std::span<const float> g, std::span<float> v,
                     std::span<float> x) {
  Pass(GluMomentumUpdate{step}, x.size(), g.data(), v.data(), x.data());
}

void GluPrototypePass(const LocalStep& step, bool renew, std::span<const float> g, std::span<float> snapshot,
                      std::span<float> x) {
  const GluPrototypeUpdate update{step};
  if (renew) return Pass(GluPrototypeRenewal{update}, x.size(), g.data(), snapshot.data(), x.data());
  Pass(update, x.size(), g.data(), snapshot.data(), x.data());
}

void DcLocalPass(const LocalStep& step, std::span<const float> g, std::span<const float> last,
                 std::span<float> x) {
  Pass(DcLocalUpdate{step}, x.size(), g.data(), last.data(), x.data());
}

void InstallDifferencePass(float inverse_passed, std::span<const float> last, std::span<const float> pulled,
                           std::span<float> difference, std::span<float> x) {
  Pass(DifferenceInstall{inverse_passed}, x.size(), last.data(), pulled.data(), difference.data(), x.data());
}

void InstallCorrectionPass(float inverse_passed, std::span<const float> pulled, std::span<float> u,
                           std::span<float> x) {
  Pass(CorrectionInstall{inverse_passed}, x.size(), pulled.data(), u.data(), x.data());
}

}  // namespace ssd
