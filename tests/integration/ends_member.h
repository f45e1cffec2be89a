// Worker 1 of a run, played by a test: it says what a worker says, until the test makes it say something else.
#ifndef SSD_TESTS_INTEGRATION_ENDS_MEMBER_H_
#define SSD_TESTS_INTEGRATION_ENDS_MEMBER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "common/parameter_layout.h"
#include "common/partition.h"
#include "common/types.h"
#include "common/wire/frame.h"
#include "ssd/v1/experiment.pb.h"
#include "tests/integration/ends_cluster.h"
#include "tests/integration/ends_raw_stream.h"

namespace ssd {

// The bytes of a frame without a payload.
std::string Encode(const WorkerFrame& frame);

// Not thread-safe. The cluster outlives it.
class EndsMember {
 public:
  explicit EndsMember(const EndsCluster& cluster);

  // The hello that `shard` agrees with.
  WorkerFrame Hello(int shard) const;
  // A frame of the run's generation, to be filled.
  static WorkerFrame Frame();
  // A push of `block`, all of whose values are `value`.
  static WorkerFrame Push(const Block& block, float value, Step step = Step(0));
  // All that `shard` has, at exactly `version`.
  WorkerFrame Pull(int shard, Version version) const;

  // Says hello to a shard. It is welcomed when all workers have.
  void SayHello(int shard);
  // Joins both shards, and takes the weights of version 0, so that training has begun.
  void Join();
  // Gives its part of `step` without a gradient, and takes the version that the step leads to.
  void Train(Step step);
  // The first half of that. False: a stream has ended.
  bool Skip(Step step);
  // Reads the answers to a pull of everything. False: something else has come, or the stream has ended.
  bool ReadBlocks(int shard);
  // Breaks its streams off.
  void Leave();

  RawStream& stream(int shard) { return *streams_[shard]; }
  const ModelLayout& layout() const { return layout_; }
  const Partition& partition() const { return partition_; }
  const Block& FirstBlockOf(int shard) const;
  // The floats that a shard has, in bytes.
  int64_t BytesOf(int shard) const;

 private:
  const EndsCluster& cluster_;
  const v1::Experiment experiment_;
  const ModelLayout layout_;
  const Partition partition_;
  std::array<std::unique_ptr<RawStream>, 2> streams_;
};

}  // namespace ssd

#endif  // SSD_TESTS_INTEGRATION_ENDS_MEMBER_H_
