#include "models/cuda/launch.cuh"

namespace ssd {

void LaunchSgd(const KernelStream& to, const LocalStep& step, std::span<const float> g, std::span<float> x) {
  LaunchElementwise(to, "Sgd", SgdUpdate{step}, x.size(), ReadArray{g.data()}, UpdateArray{x.data()});
}

void LaunchGlu(const KernelStream& to, const LocalStep& step, std::span<const float> g,
               std::span<const float> global, std::span<float> x) {
  LaunchElementwise(to, "Glu", GluUpdate{step}, x.size(), ReadArray{g.data()}, ReadArray{global.data()},
                    UpdateArray{x.data()});
}

void LaunchMomentum(const KernelStream& to, const LocalStep& step, std::span<const float> g,
                    std::span<float> u, std::span<float> x) {
  const auto launch = [&](const auto& update) {
    LaunchElementwise(to, "Momentum", update, x.size(), ReadArray{g.data()}, UpdateArray{u.data()},
                      UpdateArray{x.data()});
  };
  if (step.nesterov) return launch(MomentumUpdate<true>{step});
  launch(MomentumUpdate<false>{step});
}

void LaunchAccumulateVelocity(const KernelStream& to, const LocalStep& step, std::span<const float> g,
                              std::span<const float> x, std::span<float> u) {
  LaunchElementwise(to, "AccumulateVelocity", AccumulateUpdate{step}, u.size(), ReadArray{g.data()},
                    ReadArray{x.data()}, UpdateArray{u.data()});
}

void LaunchGluMomentum(const KernelStream& to, const LocalStep& step, std::span<const float> g,
                       std::span<float> v, std::span<float> x) {
  LaunchElementwise(to, "GluMomentum", GluMomentumUpdate{step}, x.size(), ReadArray{g.data()},
                    UpdateArray{v.data()}, UpdateArray{x.data()});
}

void LaunchGluPrototype(const KernelStream& to, const LocalStep& step, bool renew, std::span<const float> g,
                        std::span<float> snapshot, std::span<float> x) {
  const GluPrototypeUpdate update{step};
  const ReadArray gradient{g.data()};
  const UpdateArray weights{x.data()};
  if (renew) {
    return LaunchElementwise(to, "GluPrototype", GluPrototypeRenewal{update}, x.size(), gradient,
                             UpdateArray{snapshot.data()}, weights);
  }
  LaunchElementwise(to, "GluPrototype", update, x.size(), gradient, ReadArray<float>{snapshot.data()},
                    weights);
}

void LaunchDcLocal(const KernelStream& to, const LocalStep& step, std::span<const float> g,
                   std::span<const float> last, std::span<float> x) {
  LaunchElementwise(to, "DcLocal", DcLocalUpdate{step}, x.size(), ReadArray{g.data()}, ReadArray{last.data()},
                    UpdateArray{x.data()});
}

void LaunchInstallDifference(const KernelStream& to, float inverse_passed, std::span<const float> last,
                             std::span<const float> pulled, std::span<float> difference, std::span<float> x) {
  LaunchElementwise(to, "InstallDifference", DifferenceInstall{inverse_passed}, x.size(),
                    ReadArray{last.data()}, ReadArray{pulled.data()}, WriteArray{difference.data()},
                    WriteArray{x.data()});
}

void LaunchInstallCorrection(const KernelStream& to, float inverse_passed, std::span<const float> pulled,
                             std::span<float> u, std::span<float> x) {
  LaunchElementwise(to, "InstallCorrection", CorrectionInstall{inverse_passed}, x.size(),
                    ReadArray{pulled.data()}, UpdateArray{u.data()}, UpdateArray{x.data()});
}

}  // namespace ssd
