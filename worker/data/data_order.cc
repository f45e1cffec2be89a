#include "worker/data/data_order.h"

#include <limits>
#include <numeric>
#include <utility>

#include "common/logging.h"
#include "worker/data/random.h"

namespace ssd {
namespace {

int64_t CeilingOfQuotient(int64_t dividend, int64_t divisor) { return (dividend + divisor - 1) / divisor; }

// Writes the permutation into `order`, whose memory is kept. Fisher-Yates, from the last place down.
void Shuffle(uint64_t seed, int64_t epoch, std::vector<int32_t>& order) {
  std::iota(order.begin(), order.end(), 0);
  Random random(seed, Random::kDataOrder, static_cast<uint64_t>(epoch));
  for (size_t remaining = order.size(); remaining > 1; --remaining) {
    std::swap(order[remaining - 1], order[random.Below(remaining)]);
  }
}

}  // namespace

std::vector<int32_t> EpochPermutation(uint64_t seed, int64_t epoch, int64_t samples) {
  std::vector<int32_t> order(samples);
  Shuffle(seed, epoch, order);
  return order;
}

int64_t StepsPerEpoch(int64_t samples, int64_t workers, int64_t batch) {
  return CeilingOfQuotient(samples, workers * batch);
}

DataOrder::DataOrder(const Options& options) : options_(options) {
  CHECK(options.samples >= 1 && options.samples <= std::numeric_limits<int32_t>::max())
      << "samples=" << options.samples;
  CHECK_GE(options.workers, 1);
  CHECK_GE(options.batch, 1);
}

int64_t DataOrder::StepsInEpochs(int64_t epochs) const {
  return CeilingOfQuotient(epochs * options_.samples, global_batch());
}

int32_t DataOrder::SampleAt(int64_t position) {
  const int64_t number = position / options_.samples;
  Epoch& epoch = epochs_[number % 2];
  if (epoch.number != number) {
    epoch.permutation.resize(options_.samples);
    Shuffle(options_.seed, number, epoch.permutation);
    epoch.number = number;
  }
  return epoch.permutation[position % options_.samples];
}

}  // namespace ssd
