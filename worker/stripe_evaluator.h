// Evaluates on this worker's stripe of the test set.
#ifndef SSD_WORKER_STRIPE_EVALUATOR_H_
#define SSD_WORKER_STRIPE_EVALUATOR_H_

#include <utility>

#include "worker/data/evaluation_stripe.h"
#include "worker/evaluator.h"

namespace ssd {

class StripeEvaluator : public Evaluator {
 public:
  explicit StripeEvaluator(EvaluationStripe stripe) : stripe_(std::move(stripe)) {}

  BatchResult Evaluate(Model& model, std::span<const float> buffers) override {
    BatchResult sum;
    for (int64_t i = 0; i < stripe_.num_batches(); ++i) {
      const BatchResult batch = model.Evaluate(stripe_.Read(i), buffers);
      sum.loss += batch.loss;
      sum.correct += batch.correct;
      sum.samples += batch.samples;
    }
    return sum;
  }

 private:
  EvaluationStripe stripe_;
};

}  // namespace ssd

#endif  // SSD_WORKER_STRIPE_EVALUATOR_H_
