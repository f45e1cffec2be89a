// Local updates in the host's memory, each as one pass over a block: what is read and written is touched once. The
// arithmetic is in models/local_update_arithmetic.h; worker/local_update.h has its meaning. Pure functions; all spans of a
// call have one size, and none overlap.
#ifndef SSD_MODELS_LOCAL_UPDATE_PASS_H_
#define SSD_MODELS_LOCAL_UPDATE_PASS_H_

#include <span>

#include "models/local_update_arithmetic.h"

namespace ssd {

// x -= rate (alpha g + lambda x)
void SgdPass(const LocalStep& step, std::span<const float> g, std::span<float> x);

// x -= rate (alpha g + beta G + lambda x)
void GluPass(const LocalStep& step, std::span<const float> g, std::span<const float> global,
             std::span<float> x);

// d = g + lambda x;  u = mu u + d;  x -= rate u       (Nesterov: rate (d + mu u))
void MomentumPass(const LocalStep& step, std::span<const float> g, std::span<float> u, std::span<float> x);

// u = mu u + (g + lambda x), without a step.
void AccumulatePass(const LocalStep& step, std::span<const float> g, std::span<const float> x,
                    std::span<float> u);

// v = mu v + alpha g + lambda x;  x -= rate v
void GluMomentumPass(const LocalStep& step, std::span<const float> g, std::span<float> v, std::span<float> x);

// x -= rate (alpha g + beta (snapshot - x) + lambda x);  `renew`: snapshot = x
void GluPrototypePass(const LocalStep& step, bool renew, std::span<const float> g, std::span<float> snapshot,
                      std::span<float> x);

// x -= rate (alpha g + dc_lambda g g (x - last) + lambda x)
void DcLocalPass(const LocalStep& step, std::span<const float> g, std::span<const float> last,
                 std::span<float> x);

// difference = (last - pulled) / passed;  x = pulled
void InstallDifferencePass(float inverse_passed, std::span<const float> last, std::span<const float> pulled,
                           std::span<float> difference, std::span<float> x);

// u += (x - pulled) / passed;  x = pulled
void InstallCorrectionPass(float inverse_passed, std::span<const float> pulled, std::span<float> u,
                           std::span<float> x);

}  // namespace ssd

#endif  // SSD_MODELS_LOCAL_UPDATE_PASS_H_
