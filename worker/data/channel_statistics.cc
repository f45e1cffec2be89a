#include "worker/data/channel_statistics.h"

#include <cmath>
#include <cstdint>

#include "common/logging.h"

namespace ssd {

ChannelStatistics ComputeChannelStatistics(const ImageSet& set) {
  CHECK_GE(set.size(), 1);
  CHECK(set.shape.channels >= 1 && set.shape.channels <= 3) << "channels=" << set.shape.channels;
  std::array<uint64_t, 3> sum = {0, 0, 0};
  std::array<uint64_t, 3> sum_of_squares = {0, 0, 0};
  const size_t channels = set.shape.channels;
  for (size_t i = 0; i < set.pixels.size(); i += channels) {
    for (size_t c = 0; c < channels; ++c) {
      const uint64_t pixel = set.pixels[i + c];
      sum[c] += pixel;
      sum_of_squares[c] += pixel * pixel;
    }
  }
  ChannelStatistics statistics;
  const size_t positions = set.pixels.size() / channels;
  const auto count = static_cast<double>(positions);
  for (size_t c = 0; c < channels; ++c) {
    const double mean = static_cast<double>(sum[c]) / count;
    statistics.mean[c] = mean / 255;
    statistics.std[c] = std::sqrt(static_cast<double>(sum_of_squares[c]) / count - mean * mean) / 255;
  }
  return statistics;
}

}  // namespace ssd
