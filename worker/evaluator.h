// A worker's share of an evaluation.
#ifndef SSD_WORKER_EVALUATOR_H_
#define SSD_WORKER_EVALUATOR_H_

#include <span>

#include "models/model.h"

namespace ssd {

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // Evaluates the model's parameters with the given running statistics on this worker's stripe of the test
  // set.
  virtual BatchResult Evaluate(Model& model, std::span<const float> buffers) = 0;
};

}  // namespace ssd

#endif  // SSD_WORKER_EVALUATOR_H_
