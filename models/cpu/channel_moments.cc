#include "models/cpu/channel_moments.h"

#include <algorithm>

namespace ssd {
namespace {

constexpr int64_t kMaxChunks = 64;
constexpr int64_t kSumLanes = 8;  // channels whose sums fit in registers

// Sums kCount channels over `rows` rows that lie `stride` floats apart.
template <int64_t kCount>
void SumColumns(const float* x, int64_t rows, int64_t stride, double* sums, double* squares) {
  double sum[kCount] = {};
  double square[kCount] = {};
  for (int64_t row = 0; row < rows; ++row, x += stride) {
    for (int64_t i = 0; i < kCount; ++i) {
      const double value = x[i];
      sum[i] += value;
      square[i] += value * value;  // exact: a product of floats fits in a double
    }
  }
  std::copy_n(sum, kCount, sums);
  std::copy_n(square, kCount, squares);
}

}  // namespace

ChannelMoments::ChannelMoments(const ActivationShape& shape)
    : channels_(shape.channels),
      rows_(shape.size() / shape.channels),
      chunks_(std::min(rows_, kMaxChunks)),
      sums_(chunks_ * channels_),
      squares_(chunks_ * channels_),
      mean_(channels_),
      variance_(channels_),
      mean_as_float_(channels_),
      variance_as_float_(channels_) {}

void ChannelMoments::Compute(const float* x) {
  // The chunks are the same for any number of threads, and so is the order in which they are added up.
#pragma omp parallel for schedule(static)
  for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
    const int64_t first = rows_ * chunk / chunks_;
    const int64_t rows = rows_ * (chunk + 1) / chunks_ - first;
    const float* from = x + first * channels_;
    double* sums = sums_.data() + chunk * channels_;
    double* squares = squares_.data() + chunk * channels_;
    int64_t c = 0;
    for (; c + kSumLanes <= channels_; c += kSumLanes) {
      SumColumns<kSumLanes>(from + c, rows, channels_, sums + c, squares + c);
    }
    for (; c < channels_; ++c) SumColumns<1>(from + c, rows, channels_, sums + c, squares + c);
  }
  const auto count = static_cast<double>(rows_);
  for (int64_t c = 0; c < channels_; ++c) {
    double sum = 0;
    double square = 0;
    for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
      sum += sums_[chunk * channels_ + c];
      square += squares_[chunk * channels_ + c];
    }
    const double mean = sum / count;
    const double variance = square / count - mean * mean;
    mean_[c] = mean;
    variance_[c] =
        variance < 0 ? 0 : variance;  // by rounding, where all values are the same; a NaN stays one
    mean_as_float_[c] = static_cast<float>(mean_[c]);
    variance_as_float_[c] = static_cast<float>(variance_[c]);
  }
}

void ChannelMoments::MoveRunning(float momentum, float* running_mean, float* running_variance) const {
  const auto count = static_cast<double>(rows_);
  const double unbiased = rows_ > 1 ? count / (count - 1) : 1;
  for (int64_t c = 0; c < channels_; ++c) {
    running_mean[c] = static_cast<float>((1.0 - momentum) * running_mean[c] + momentum * mean_[c]);
    running_variance[c] =
        static_cast<float>((1.0 - momentum) * running_variance[c] + momentum * unbiased * variance_[c]);
  }
}

}  // namespace ssd
