#include "tests/models/reference.h"

#include <algorithm>
#include <cmath>

namespace ssd::reference {
namespace {

int64_t Index(const ActivationShape& shape, int64_t n, int64_t h, int64_t w, int64_t c) {
  return ((n * shape.height + h) * shape.width + w) * shape.channels + c;
}

// Calls visit(n, h, w, c) for every element.
template <typename Visit>
void ForEach(const ActivationShape& shape, Visit visit) {
  for (int64_t n = 0; n < shape.batch; ++n)
    for (int64_t h = 0; h < shape.height; ++h)
      for (int64_t w = 0; w < shape.width; ++w)
        for (int64_t c = 0; c < shape.channels; ++c) visit(n, h, w, c);
}

}  // namespace

ConvolutionResult Convolve(const ConvolutionShape& shape, const std::vector<float>& x,
                           const std::vector<float>& weights, const std::vector<float>& dy) {
  const ActivationShape input = shape.input;
  const ActivationShape output = shape.output();
  ConvolutionResult result;
  result.y.resize(output.size());
  result.dx.resize(input.size());
  result.dweights.resize(shape.weights_size());
  ForEach(output, [&](int64_t n, int64_t h, int64_t w, int64_t o) {
    const int64_t y = Index(output, n, h, w, o);
    for (int64_t kh = 0; kh < shape.kernel; ++kh) {
      for (int64_t kw = 0; kw < shape.kernel; ++kw) {
        const int64_t row = h * shape.stride + kh - shape.padding;
        const int64_t column = w * shape.stride + kw - shape.padding;
        if (row < 0 || row >= input.height || column < 0 || column >= input.width) continue;
        for (int64_t c = 0; c < input.channels; ++c) {
          const int64_t from = Index(input, n, row, column, c);
          const int64_t weight = ((o * shape.kernel + kh) * shape.kernel + kw) * input.channels + c;  // OHWI
          result.y[y] += static_cast<double>(x[from]) * weights[weight];
          result.dx[from] += static_cast<double>(dy[y]) * weights[weight];
          result.dweights[weight] += static_cast<double>(dy[y]) * x[from];
        }
      }
    }
  });
  return result;
}

BatchNormResult BatchNorm(const BatchNormOptions& options, bool relu, const BatchNormInput& input) {
  const int64_t size = options.shape.size();
  const int64_t channels = options.shape.channels;
  const auto count = static_cast<double>(size / channels);
  const auto& x = input.x;
  BatchNormResult result;
  for (std::vector<double>* whole : {&result.y, &result.inference, &result.dx}) whole->resize(size);
  for (auto* values : {&result.dscale, &result.dshift, &result.running_mean, &result.running_variance}) {
    values->resize(channels);
  }
  const auto rectified = [relu](double value) { return relu ? std::max(value, 0.0) : value; };
  for (int64_t channel = 0; channel < channels; ++channel) {
    const double scale = input.scale[channel];
    const double shift = input.shift[channel];
    const double old_mean = input.running_mean[channel];
    const double old_variance = input.running_variance[channel];
    double mean = 0;
    double variance = 0;
    for (int64_t i = channel; i < size; i += channels) mean += x[i] / count;
    for (int64_t i = channel; i < size; i += channels) variance += (x[i] - mean) * (x[i] - mean) / count;
    const double deviation = std::sqrt(variance + options.epsilon);
    const auto normalised = [&](int64_t i) { return (x[i] - mean) / deviation; };
    // The gradient behind the ReLU.
    const auto dz = [&](int64_t i) {
      return relu && scale * normalised(i) + shift <= 0 ? 0.0 : static_cast<double>(input.dy[i]);
    };
    double& dscale = result.dscale[channel];
    double& dshift = result.dshift[channel];
    for (int64_t i = channel; i < size; i += channels) {
      result.y[i] = rectified(scale * normalised(i) + shift);
      result.inference[i] =
          rectified(scale * (x[i] - old_mean) / std::sqrt(old_variance + options.epsilon) + shift);
      dscale += dz(i) * normalised(i);
      dshift += dz(i);
    }
    for (int64_t i = channel; i < size; i += channels) {
      result.dx[i] = scale / deviation * (dz(i) - dshift / count - normalised(i) * dscale / count);
    }
    const double momentum = options.momentum;
    result.running_mean[channel] = (1 - momentum) * old_mean + momentum * mean;
    result.running_variance[channel] =
        (1 - momentum) * old_variance + momentum * variance * count / (count - 1);
  }
  return result;
}

namespace {

// Calls visit(to, from) with the indices of each output that has an input.
template <typename Visit>
void ForEachShortcut(const ActivationShape& input, const ActivationShape& output, Visit visit) {
  const int64_t stride = input.height == output.height ? 1 : 2;
  const int64_t before = (output.channels - input.channels) / 2;
  ForEach(output, [&](int64_t n, int64_t h, int64_t w, int64_t c) {
    if (c < before || c >= before + input.channels) return;
    visit(Index(output, n, h, w, c), Index(input, n, h * stride, w * stride, c - before));
  });
}

}  // namespace

std::vector<double> Shortcut(const ActivationShape& input, const ActivationShape& output,
                             const std::vector<float>& s) {
  std::vector<double> result(output.size());
  ForEachShortcut(input, output, [&](int64_t to, int64_t from) { result[to] = s[from]; });
  return result;
}

std::vector<double> ShortcutGradient(const ActivationShape& input, const ActivationShape& output,
                                     const std::vector<float>& dy) {
  std::vector<double> result(input.size());
  ForEachShortcut(input, output, [&](int64_t to, int64_t from) { result[from] = dy[to]; });
  return result;
}

MaxPoolResult MaxPool(const PoolShape& shape, const std::vector<float>& x, const std::vector<float>& dy) {
  const ActivationShape input = shape.input;
  const ActivationShape output = shape.output();
  MaxPoolResult result;
  result.y.resize(output.size());
  result.dx.resize(input.size());
  ForEach(output, [&](int64_t n, int64_t h, int64_t w, int64_t c) {
    int64_t largest = -1;  // the index in x
    for (int64_t row = h * shape.stride - shape.padding;
         row < h * shape.stride - shape.padding + shape.kernel; ++row) {
      for (int64_t column = w * shape.stride - shape.padding;
           column < w * shape.stride - shape.padding + shape.kernel; ++column) {
        if (row < 0 || row >= input.height || column < 0 || column >= input.width) continue;
        const int64_t from = Index(input, n, row, column, c);
        if (largest < 0 || x[from] > x[largest]) largest = from;
      }
    }
    result.y[Index(output, n, h, w, c)] = x[largest];
    result.dx[largest] += dy[Index(output, n, h, w, c)];
  });
  return result;
}

}  // namespace ssd::reference
