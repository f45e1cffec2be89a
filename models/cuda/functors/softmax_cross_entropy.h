// The cross entropy of softmax(logits), its gradient, and whether the label is the largest logit or among the five
// largest: models/operations.h, SoftmaxCrossEntropy. All in double, as on the CPU: the logits are few.
//
// The threads of a block share a sample, each having every threads-th class, and add up in tree_sum.h's order:
//
//   parts = Scan(thread)          the largest logit, and how many stand before the label's      -> scan
//   sums = Exponentials(thread)   exp(logit - largest)                                          -> sum
//   Finish(thread)                the gradient, and by thread 0 the sample's result
//
// The logits are read three times, the second and third time from the cache. exp and log of a GPU are within 2 units of
// the last place of double; so a gradient differs from the CPU's by a unit of float's last place at most, and a loss by
// some 1e-15 of its size.
#ifndef SSD_MODELS_CUDA_FUNCTORS_SOFTMAX_CROSS_ENTROPY_H_
#define SSD_MODELS_CUDA_FUNCTORS_SOFTMAX_CROSS_ENTROPY_H_

#include <cmath>
#include <cstdint>

#include "common/host_device.h"
#include "models/cuda/functors/half.h"

namespace ssd {

// What a walk over logits finds. A NaN is no number, so it is not the largest.
struct LogitScan {
  float largest = -INFINITY;
  int32_t before = 0;  // larger than the label's logit, or as large and of a class before it
  bool has_nan = false;

  SSD_HOST_DEVICE LogitScan& operator+=(const LogitScan& other) {
    if (other.largest > largest) largest = other.largest;
    before += other.before;
    has_nan = has_nan || other.has_nan;
    return *this;
  }
};

struct SampleResult {
  double loss = 0;
  int32_t top_1 = 0;  // 1 if the label is the largest
  int32_t top_5 = 0;  // 1 if it is among the five largest
};

// Sums over the valid samples of a batch.
struct BatchSums {
  double loss = 0;
  int64_t top_1 = 0;
  int64_t top_5 = 0;

  SSD_HOST_DEVICE BatchSums& operator+=(const BatchSums& other) {
    loss += other.loss;
    top_1 += other.top_1;
    top_5 += other.top_5;
    return *this;
  }
};

// The samples behind the first `valid` have results and gradients of 0, and their labels are not read.
template <typename Gradient>
struct SoftmaxCrossEntropyStep {
  int64_t batch = 0;
  int64_t valid = 0;
  int classes = 0;
  const float* logits = nullptr;    // (N, C)
  const int32_t* labels = nullptr;  // (N), the first `valid` in [0, C)
  const float* scale = nullptr;     // of the gradient; none: 1
  Gradient* dlogits = nullptr;      // (N, C): scale (softmax(logits) - onehot(labels)) / N; none: not wanted
  SampleResult* results = nullptr;  // (N)

  SSD_HOST_DEVICE LogitScan Scan(int64_t sample, int thread, int threads) const {
    LogitScan scan;
    if (sample >= valid) return scan;
    const float* row = logits + sample * classes;
    const int32_t label = labels[sample];
    const float of_label = row[label];
    for (int c = thread; c < classes; c += threads) {
      const float logit = row[c];
      if (logit != logit) scan.has_nan = true;
      if (logit > scan.largest) scan.largest = logit;
      scan.before += logit > of_label || (logit == of_label && c < label);
    }
    return scan;
  }

  SSD_HOST_DEVICE double Exponentials(int64_t sample, const LogitScan& scan, int thread, int threads) const {
    double sum = 0;
    if (sample >= valid) return sum;
    const float* row = logits + sample * classes;
    for (int c = thread; c < classes; c += threads) sum += exp(row[c] - static_cast<double>(scan.largest));
    return sum;
  }

  SSD_HOST_DEVICE void Finish(int64_t sample, const LogitScan& scan, double sum, int thread,
                              int threads) const {
    const bool is_valid = sample < valid;
    const float* row = logits + sample * classes;
    const int32_t label = is_valid ? labels[sample] : -1;
    const double log_sum = is_valid ? scan.largest + log(sum) : 0;
    if (thread == 0) {
      SampleResult result;
      if (is_valid) {
        result.loss = log_sum - row[label];
        result.top_1 = !scan.has_nan && scan.before < 1;
        result.top_5 = !scan.has_nan && scan.before < 5;
      }
      results[sample] = result;
    }
    if (dlogits == nullptr) return;
    const double factor = scale == nullptr ? 1 : *scale;
    for (int c = thread; c < classes; c += threads) {
      double gradient = 0;
      if (is_valid) {
        const double difference = exp(row[c] - log_sum) - (c == label ? 1 : 0);
        gradient = difference / static_cast<double>(batch) * factor;
      }
      dlogits[sample * classes + c] = FromFloat<Gradient>(static_cast<float>(gradient));
    }
  }
};

// The sum over a batch: each thread of a block sums every threads-th sample, and tree_sum.h adds them up.
struct BatchSummation {
  int64_t batch = 0;
  const SampleResult* results = nullptr;

  SSD_HOST_DEVICE BatchSums ThreadSum(int thread, int threads) const {
    BatchSums sums;
    for (int64_t n = thread; n < batch; n += threads) {
      sums += {.loss = results[n].loss, .top_1 = results[n].top_1, .top_5 = results[n].top_5};
    }
    return sums;
  }
};

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_FUNCTORS_SOFTMAX_CROSS_ENTROPY_H_
