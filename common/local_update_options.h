// The options of a worker's local update; worker/local_update.h says what they do.
#ifndef SSD_COMMON_LOCAL_UPDATE_OPTIONS_H_
#define SSD_COMMON_LOCAL_UPDATE_OPTIONS_H_

#include <optional>

namespace ssd {

struct LocalUpdateOptions {
  enum class Kind { kSgd, kGlu, kMomentum, kGluVelocity, kGluMomentum, kGluPrototype, kDcLocal };

  Kind kind = Kind::kGlu;
  // None: auto. glu: (1 - beta) / (1 - momentum), which makes the local step as long as the global one in the
  // long run; else 1.
  std::optional<double> alpha;
  double beta = 0.5;
  double dc_lambda = 0.04;  // dc_local's
  double momentum = 0.9;    // mu
  double weight_decay = 0;  // lambda
  bool nesterov = false;
  double local_lr_scale = 1;  // eta_l = eta * local_lr_scale
};

}  // namespace ssd

#endif  // SSD_COMMON_LOCAL_UPDATE_OPTIONS_H_
