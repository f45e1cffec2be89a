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

void BatchNorm::Run(const std::vector<float>& x, const std::vector<float>& scale,
                    const std::vector<float>& shift, const std::vector<float>& dy,
                    const std::vector<float>& mean, const std::vector<float>& variance) {
  for (std::vector<double>* whole : {&y, &inference, &dx}) whole->resize(options_.shape.size());
  for (std::vector<double>* channels : {&dscale, &dshift, &running_mean, &running_variance}) {
    channels->resize(options_.shape.channels);
  }
  for (int64_t c = 0; c < options_.shape.channels; ++c) {
    RunChannel(c, x, scale[c], shift[c], dy, mean[c], variance[c]);
  }
}

void BatchNorm::RunChannel(int64_t channel, const std::vector<float>& x, double scale, double shift,
                           const std::vector<float>& dy, double old_mean, double old_variance) {
  const int64_t channels = options_.shape.channels;
  const auto count = static_cast<double>(options_.shape.size() / channels);
  const auto for_each = [&](auto visit) {
    for (int64_t i = channel; i < options_.shape.size(); i += channels) visit(i);
  };
  double mean = 0;
  double variance = 0;
  for_each([&](int64_t i) { mean += x[i] / count; });
  for_each([&](int64_t i) { variance += (x[i] - mean) * (x[i] - mean) / count; });
  const double deviation = std::sqrt(variance + options_.epsilon);
  const auto normalised = [&](int64_t i) { return (x[i] - mean) / deviation; };
  const auto relu = [&](double value) { return options_.relu ? std::max(value, 0.0) : value; };
  // The gradient behind the ReLU.
  const auto dz = [&](int64_t i) {
    return options_.relu && scale * normalised(i) + shift <= 0 ? 0.0 : static_cast<double>(dy[i]);
  };
  for_each([&](int64_t i) {
    y[i] = relu(scale * normalised(i) + shift);
    inference[i] = relu(scale * (x[i] - old_mean) / std::sqrt(old_variance + options_.epsilon) + shift);
    dscale[channel] += dz(i) * normalised(i);
    dshift[channel] += dz(i);
  });
  for_each([&](int64_t i) {
    dx[i] = scale / deviation * (dz(i) - dshift[channel] / count - normalised(i) * dscale[channel] / count);
  });
  running_mean[channel] = (1 - options_.momentum) * old_mean + options_.momentum * mean;
  running_variance[channel] =
      (1 - options_.momentum) * old_variance + options_.momentum * variance * count / (count - 1);
}

ResidualResult AddResidual(const ActivationShape& input, const ActivationShape& output,
                           const std::vector<float>& x, const std::vector<float>& branch,
                           const std::vector<float>& dy, const std::vector<float>& dx) {
  const int64_t stride = input.height == output.height ? 1 : 2;
  const int64_t before = (output.channels - input.channels) / 2;
  ResidualResult result{
      .y = {branch.begin(), branch.end()}, .dy = {dy.begin(), dy.end()}, .dx = {dx.begin(), dx.end()}};
  ForEach(output, [&](int64_t n, int64_t h, int64_t w, int64_t c) {
    const int64_t to = Index(output, n, h, w, c);
    const bool from_input = before <= c && c < before + input.channels;
    const int64_t from = from_input ? Index(input, n, h * stride, w * stride, c - before) : 0;
    if (from_input) result.y[to] += x[from];
    if (result.y[to] <= 0) result.y[to] = result.dy[to] = 0;
    if (from_input) result.dx[from] += result.dy[to];
  });
  return result;
}

}  // namespace ssd::reference
