// The formulas of local updates for one weight, for the passes in the host's memory and the kernels in a GPU's alike.
// worker/local_update.h has their meaning.
//
// Each is a functor over its arrays' elements, in the order in which the passes take the arrays: an element that is only
// read is a value, one that is written a reference. Without fused multiply-adds a CPU and a GPU get the same bits.
#ifndef SSD_MODELS_LOCAL_UPDATE_ARITHMETIC_H_
#define SSD_MODELS_LOCAL_UPDATE_ARITHMETIC_H_

#include "common/host_device.h"

namespace ssd {

// A step's numbers.
struct LocalStep {
  float rate = 0;  // eta_l
  float alpha = 1;
  float beta = 0;
  float mu = 0;
  float lambda = 0;
  float dc_lambda = 0;
  bool nesterov = false;
};

// x -= rate (alpha g + lambda x)
struct SgdUpdate {
  LocalStep step;

  SSD_HOST_DEVICE void operator()(float g, float& x) const {
    x -= step.rate * (step.alpha * g + step.lambda * x);
  }
};

// x -= rate (alpha g + beta G + lambda x)
struct GluUpdate {
  LocalStep step;

  SSD_HOST_DEVICE void operator()(float g, float global, float& x) const {
    x -= step.rate * (step.alpha * g + step.beta * global + step.lambda * x);
  }
};

// d = g + lambda x;  u = mu u + d;  x -= rate u       (Nesterov: rate (d + mu u))
template <bool kNesterov>
struct MomentumUpdate {
  LocalStep step;

  SSD_HOST_DEVICE void operator()(float g, float& u, float& x) const {
    const float d = g + step.lambda * x;
    const float velocity = step.mu * u + d;
    u = velocity;
    x -= step.rate * (kNesterov ? d + step.mu * velocity : velocity);
  }
};

// u = mu u + (g + lambda x)
struct AccumulateUpdate {
  LocalStep step;

  SSD_HOST_DEVICE void operator()(float g, float x, float& u) const {
    u = step.mu * u + (g + step.lambda * x);
  }
};

// v = mu v + alpha g + lambda x;  x -= rate v
struct GluMomentumUpdate {
  LocalStep step;

  SSD_HOST_DEVICE void operator()(float g, float& v, float& x) const {
    v = step.mu * v + step.alpha * g + step.lambda * x;
    x -= step.rate * v;
  }
};

// x -= rate (alpha g + beta (snapshot - x) + lambda x)
struct GluPrototypeUpdate {
  LocalStep step;

  SSD_HOST_DEVICE void operator()(float g, float snapshot, float& x) const {
    const float move = step.alpha * g + step.beta * (snapshot - x) + step.lambda * x;
    x -= step.rate * move;
  }
};

// The same, and then snapshot = x.
struct GluPrototypeRenewal {
  GluPrototypeUpdate update;

  SSD_HOST_DEVICE void operator()(float g, float& snapshot, float& x) const {
    update(g, snapshot, x);
    snapshot = x;
  }
};

// x -= rate (alpha g + dc_lambda g g (x - last) + lambda x)
struct DcLocalUpdate {
  LocalStep step;

  SSD_HOST_DEVICE void operator()(float g, float last, float& x) const {
    const float compensation = step.dc_lambda * g * g * (x - last);
    x -= step.rate * (step.alpha * g + compensation + step.lambda * x);
  }
};

// difference = (last - pulled) / passed;  x = pulled
struct DifferenceInstall {
  float inverse_passed = 0;

  SSD_HOST_DEVICE void operator()(float last, float pulled, float& difference, float& x) const {
    difference = (last - pulled) * inverse_passed;
    x = pulled;
  }
};

// u += (x - pulled) / passed;  x = pulled
struct CorrectionInstall {
  float inverse_passed = 0;

  SSD_HOST_DEVICE void operator()(float pulled, float& u, float& x) const {
    u += (x - pulled) * inverse_passed;
    x = pulled;
  }
};

}  // namespace ssd

#endif  // SSD_MODELS_LOCAL_UPDATE_ARITHMETIC_H_
