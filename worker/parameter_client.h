// A worker's side of the protocol: one channel to each shard, and the pulls under way.
//
//   state     on                                                   to
//   idle      Join                                                 joining
//   joining   Welcome from every shard                             member    (joined is called)
//   joining   rendezvous_timeout                                   ending 201
//   joining,  a channel is lost, a pull unanswered for             ending 200
//   member    peer_timeout
//   any       a shard's Goodbye{cause}                             ending    with its code, or 200 where the
//                                                                            cause concerns that shard alone
//   any       End(ending)                                          ending    (a Goodbye goes to every shard)
//   ending    every channel has closed, or a few seconds           ended     (on_end is called, once)
//
// Not thread-safe: everything runs on the worker's executor. Nothing here waits.
#ifndef SSD_WORKER_PARAMETER_CLIENT_H_
#define SSD_WORKER_PARAMETER_CLIENT_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/executor.h"
#include "common/exit_code.h"
#include "common/partition.h"
#include "common/types.h"
#include "worker/shard_channel.h"

namespace ssd {

class ParameterClient : private ShardChannel::Listener {
 public:
  struct Options {
    WorkerId worker;
    Incarnation incarnation;
    std::vector<std::string> shard_names;  // their addresses, for messages; one a shard
    absl::Duration rendezvous_timeout = absl::Seconds(60);
    absl::Duration peer_timeout = absl::Seconds(60);
  };

  // The blocks of one pull, in the order of their arrival.
  struct PulledBlock {
    BlockId id;
    Buffer values;
  };
  using Pulled = absl::AnyInvocable<void(Version version, std::vector<PulledBlock> blocks)>;

  ParameterClient(Options options, Partition partition, ShardChannelFactory& channels, Executor& executor,
                  Clock& clock, absl::AnyInvocable<void(const Ending&)> on_end);
  ~ParameterClient() override;

  // Says hello to every shard; `hello` has all but the shard's own fields. `joined` is called when all have
  // welcomed.
  void Join(v1::Hello hello, absl::AnyInvocable<void()> joined);

  // Version 0 of a block, from worker 0.
  void SendInitial(BlockId block, Buffer values);

  // This worker's part of the update of `block` that ends with `step`. `values` must not change any more.
  void Push(BlockId block, Step step, Buffer values);

  // Asks for blocks at exactly `version`; they are kept aside as they arrive. REQUIRES: none of that version
  // is under way.
  void Pull(Version version, const std::vector<BlockId>& blocks);

  // What becomes of a pulled block as it arrives, while the others are still on their way: `on_arrival` returns what is kept
  // aside for Await in place of `values`.
  using OnArrival = absl::AnyInvocable<Buffer(const Block& block, Buffer values)>;
  void set_on_arrival(OnArrival on_arrival) { on_arrival_ = std::move(on_arrival); }

  // Calls `pulled` with the blocks of the pull of `version`, once all are there, never inside this call.
  // REQUIRES: that pull is under way; nobody awaits another.
  void Await(Version version, Pulled pulled);

  // To shard 0.
  void Send(const v1::Report& report);
  void Send(const v1::Evaluated& evaluated);

  // Leaves the run: code 0 when the work is done; otherwise the shards are told why. The first ending stands.
  void End(Ending ending);
  // Whether an ending is under way: whoever uses the client stops.
  bool ending() const { return ending_.has_value(); }

  const Partition& partition() const { return partition_; }

  // Payloads so far, all shards together: of what was pushed, and of the blocks that came.
  struct Traffic {
    uint64_t bytes_pushed = 0;
    uint64_t bytes_pulled = 0;
  };
  const Traffic& traffic() const { return traffic_; }

 private:
  struct Shard {
    std::unique_ptr<ShardChannel> channel;
    bool welcomed = false;
    bool closed = false;
  };
  struct PendingPull {
    std::set<BlockId> missing;
    std::vector<PulledBlock> arrived;
    absl::Duration since;  // steady time: when the pull began, then when it was awaited
  };

  void OnFrame(ShardId shard, ServerFrame frame) override;
  void OnClosed(ShardId shard, const absl::Status& status) override;
  void Open(ShardId shard);
  void OnWelcome(ShardId shard, Generation generation);
  void OnBlock(ShardId shard, const v1::Block& block, Buffer payload);
  void OnGoodbye(ShardId shard, const v1::Goodbye& goodbye);
  Ending EndingOf(ShardId shard, const v1::Goodbye& goodbye) const;
  void Deliver();
  void Watch();
  void FinishIfClosed();
  WorkerFrame NewFrame() const;
  void SendTo(ShardId shard, WorkerFrame frame);
  std::string NameOf(ShardId shard) const;
  std::string Where() const;

  const Options options_;
  const Partition partition_;
  ShardChannelFactory& channels_;
  Executor& executor_;
  Clock& clock_;
  absl::AnyInvocable<void(const Ending&)> on_end_;

  v1::Hello hello_;
  absl::AnyInvocable<void()> joined_;
  std::vector<Shard> shards_;
  Generation generation_;
  std::map<Version, PendingPull> pulls_;
  std::optional<Version> awaited_;
  Pulled pulled_;
  OnArrival on_arrival_;  // null: they are kept as they are
  Step newest_step_;  // the last pushed, for messages
  Traffic traffic_;
  absl::Duration started_;      // steady time
  absl::Duration last_notice_;  // steady time of the last line about waiting
  std::optional<Ending> ending_;
  bool ended_ = false;
  // Gone with this object: timers may outlive it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ssd

#endif  // SSD_WORKER_PARAMETER_CLIENT_H_
