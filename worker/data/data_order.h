// Which training sample every worker sees at every step: a pure function of (seed, position), independent of
// timing.
//
// The stream of samples is the concatenation of one permutation per epoch. Worker i takes at step t the B
// positions from (t N + i) B on. No sample is lost or repeated, whatever N and B are: a batch that crosses an
// epoch's border takes its first samples from the one permutation and its last from the next, and an epoch
// ends with the first step that reaches its border.
//
// Worked example, 10 samples, N = 2, B = 3, so that a step takes N B = 6 positions:
//
//   step              0        1          2            3            4
//   positions      0 .. 5   6 .. 11   12 .. 17     18 .. 23     24 .. 29
//   of worker 0    0 .. 2   6 .. 8    12 .. 14     18 .. 20     24 .. 26
//   of worker 1    3 .. 5   9 .. 11   15 .. 17     21 .. 23     27 .. 29
//   epochs            0      0 | 1       1           1 | 2         2 |
//   epoch's last step     EndOfEpoch(0)=1        EndOfEpoch(1)=3  EndOfEpoch(2)=4
//
//   steps_per_epoch() = 10 / 6 = 1.667: what learning-rate schedules divide by
//   StepsPerEpoch(10, 2, 3) = 2:        steps that touch one epoch which starts with a step
//   StepsInEpochs(3) = 5:               steps of a run of 3 epochs; not 3 times 2
#ifndef SSD_WORKER_DATA_DATA_ORDER_H_
#define SSD_WORKER_DATA_DATA_ORDER_H_

#include <array>
#include <cstdint>
#include <vector>

#include "common/types.h"

namespace ssd {

// The samples 0..samples-1 in the order of `epoch`.
std::vector<int32_t> EpochPermutation(uint64_t seed, int64_t epoch, int64_t samples);

// ceil(samples / (workers batch)): the number of steps from a step that starts an epoch to that epoch's last.
int64_t StepsPerEpoch(int64_t samples, int64_t workers, int64_t batch);

// A value type; not thread-safe. Memory: at most two permutations, made when first needed.
class DataOrder {
 public:
  struct Options {
    uint64_t seed = 1;
    int64_t samples = 0;  // in the training set, 1 .. 2^31 - 1
    int64_t workers = 1;  // N, at least 1
    int64_t batch = 1;    // B, samples a worker and step, at least 1
  };

  explicit DataOrder(const Options& options);

  const Options& options() const { return options_; }
  // N B.
  int64_t global_batch() const { return options_.workers * options_.batch; }
  // samples / (N B), seldom whole: e(t) = t / steps_per_epoch().
  double steps_per_epoch() const {
    return static_cast<double>(options_.samples) / static_cast<double>(global_batch());
  }

  // The first of the B positions that `worker` takes at `step`.
  int64_t FirstPosition(Step step, WorkerId worker) const {
    return (step.value() * options_.workers + worker.value()) * options_.batch;
  }

  // The number of steps after which the first `epochs` epochs are complete: ceil(epochs samples / (N B)).
  int64_t StepsInEpochs(int64_t epochs) const;
  // The step with which `epoch`, counted from 0, ends: the first whose positions reach the epoch's border.
  Step EndOfEpoch(int64_t epoch) const { return Step(StepsInEpochs(epoch + 1) - 1); }

  // The sample at `position` of the stream. Constant time, but for the first position asked for of an epoch
  // that is not among the two held, whose permutation is then made (about a millisecond for 50,000 samples).
  int32_t SampleAt(int64_t position);

 private:
  struct Epoch {
    int64_t number = -1;
    std::vector<int32_t> permutation;
  };

  Options options_;
  std::array<Epoch, 2> epochs_;  // epoch e lies at e mod 2: a stream needs one epoch and its successor
};

}  // namespace ssd

#endif  // SSD_WORKER_DATA_DATA_ORDER_H_
