// The mean and standard deviation of each channel over a whole set: what images are normalised with.
#ifndef SSD_WORKER_DATA_CHANNEL_STATISTICS_H_
#define SSD_WORKER_DATA_CHANNEL_STATISTICS_H_

#include <array>

#include "worker/data/image_set.h"

namespace ssd {

// In units of 1 (a pixel of 255); 0 in channels that the set lacks.
struct ChannelStatistics {
  std::array<double, 3> mean = {0, 0, 0};
  std::array<double, 3> std = {0, 0, 0};  // of the population, not of a sample
};

// Adds up integers, so the result depends on no order. REQUIRES: at least one image, 1 to 3 channels.
ChannelStatistics ComputeChannelStatistics(const ImageSet& set);

}  // namespace ssd

#endif  // SSD_WORKER_DATA_CHANNEL_STATISTICS_H_
