// The authority of a run, on shard 0: which generation it is in, and the sums over workers that are one
// number for all: training reports and evaluations.
//
// Not thread-safe; runs on shard 0's executor.
#ifndef SSD_SERVER_COORDINATOR_H_
#define SSD_SERVER_COORDINATOR_H_

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/types.h"
#include "ssd/v1/parameter_service.pb.h"

namespace ssd {

// Who wants to know how training goes. An error (disk full) ends the run.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // All workers' reports of one interval, which ends before `report.step`: sums of counts, bytes and seconds over
  // `workers`. `lead`: by how many steps a push was ahead of its block's version at most.
  virtual absl::Status OnReport(const v1::Report& sum, int workers, int64_t lead) = 0;
  virtual absl::Status OnEvaluation(const v1::Evaluated& sum) = 0;
};

class Coordinator {
 public:
  Coordinator(int num_workers, RunObserver& observer) : num_workers_(num_workers), observer_(observer) {}

  // 0 before the first; rises with every change of membership.
  Generation generation() const { return generation_; }
  void StartGeneration() { ++generation_; }

  // Adds one worker's part; the last one of a step or version reaches the observer. InvalidArgument: given
  // twice, a number that is not finite, or further ahead of the others than a schedule allows. What waits for the others
  // is kept: 2048 parts of each kind and worker.
  // `lead`: the shard's since the last report of any worker.
  absl::Status Add(WorkerId worker, const v1::Report& report, int64_t lead);
  absl::Status Add(WorkerId worker, const v1::Evaluated& evaluated);

 private:
  struct Reported {
    v1::Report report;
    int64_t lead;
  };
  // What the workers have given, by worker: added up in their order once complete, as the sum of more than two
  // doubles depends on it.
  template <typename Message>
  using Parts = std::map<WorkerId, Message>;
  // Keeps `part`; returns all parts when it was the last one.
  template <typename Message>
  absl::StatusOr<Parts<Message>> Complete(std::map<uint64_t, Parts<Message>>& open, uint64_t key,
                                          WorkerId worker, Message part);

  const int num_workers_;
  RunObserver& observer_;
  Generation generation_;
  std::map<uint64_t, Parts<Reported>> reports_;           // by step
  std::map<uint64_t, Parts<v1::Evaluated>> evaluations_;  // by version
};

}  // namespace ssd

#endif  // SSD_SERVER_COORDINATOR_H_
