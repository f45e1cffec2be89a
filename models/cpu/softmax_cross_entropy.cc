#include "models/cpu/softmax_cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "common/logging.h"

namespace ssd {
namespace {

// log(sum(exp(logits))), with the largest taken out, so that nothing overflows.
double LogSumExp(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

bool IsFirstLargest(std::span<const float> logits, int32_t label) {
  for (int32_t c = 0; c < static_cast<int32_t>(logits.size()); ++c) {
    const bool label_wins = c < label ? logits[label] > logits[c] : logits[label] >= logits[c];
    if (!label_wins) return false;  // also where either is NaN
  }
  return true;
}

}  // namespace

void CpuSoftmaxCrossEntropy::Forward(const float* logits, const int32_t* labels, int64_t valid) {
  CHECK(0 <= valid && valid <= batch_) << valid;
  result_ = {.samples = valid};
  for (int64_t n = 0; n < valid; ++n) {
    const std::span<const float> row(logits + n * classes_, classes_);
    const int32_t label = labels[n];
    CHECK(0 <= label && label < classes_) << "label " << label << " of " << classes_ << " classes";
    result_.loss += LogSumExp(row) - row[label];
    result_.correct += IsFirstLargest(row, label);
  }
}

void CpuSoftmaxCrossEntropy::Backward(const float* logits, const int32_t* labels, void* dlogits) {
  for (int64_t n = 0; n < batch_; ++n) {
    const std::span<const float> row(logits + n * classes_, classes_);
    const double log_sum = LogSumExp(row);
    float* drow = static_cast<float*>(dlogits) + n * classes_;
    for (int64_t c = 0; c < classes_; ++c) {
      const double probability = std::exp(row[c] - log_sum);
      drow[c] = static_cast<float>((probability - (c == labels[n] ? 1 : 0)) / static_cast<double>(batch_));
    }
  }
}

}  // namespace ssd
