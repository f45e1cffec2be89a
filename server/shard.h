// One shard as its streams see it: brings the workers together, makes the ParameterShard from their hellos,
// passes news between them, and decides when and why it ends.
//
//   state       on                                               to
//   gathering   all workers' hellos are there                    running    (all are welcomed)
//   gathering   rendezvous_timeout                               ended 201
//   running     every worker has said Goodbye{0}                 ended 0
//   running     a member is lost, silent for peer_timeout, or    ended 200  (4 for a non-finite value)
//               says Goodbye{cause}
//   any         Stop                                             ended with the given code
//
// Not thread-safe: everything runs on the given executor, but for the constructor.
#ifndef SSD_SERVER_SHARD_H_
#define SSD_SERVER_SHARD_H_

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/executor.h"
#include "common/exit_code.h"
#include "server/coordinator.h"
#include "server/parameter_shard.h"
#include "server/session.h"

namespace ssd {

// What follows from the configuration and the number of samples that an epoch has, which the workers know.
struct ShardPlan {
  std::shared_ptr<const SyncSchedule> schedule;
  std::shared_ptr<const LearningRate> learning_rate;
};

class Shard {
 public:
  struct Options {
    ShardId shard;
    int num_shards = 1;
    int num_workers = 1;
    bool deterministic = false;
    std::optional<int64_t> block_bytes;
    OptimizerOptions optimizer;
    // The resolved value of every option that must agree, for comparison with the hellos.
    std::vector<std::pair<std::string, std::string>> fields;
    std::function<ShardPlan(int64_t samples_per_epoch)> plan;
    absl::Duration rendezvous_timeout = absl::Seconds(60);
    absl::Duration peer_timeout = absl::Seconds(60);
  };

  // How long a stream may take to say hello, at most peer_timeout.
  static constexpr absl::Duration kHelloTimeout = absl::Seconds(10);
  // Streams that have not said hello, beside those that the workers need. Beyond that the oldest one has to go: who
  // means well says hello at once.
  static constexpr int kMoreStrangers = 16;

  // `coordinator`: on shard 0 alone; null elsewhere. `on_start` is called when the run starts. `on_end` is
  // called once.
  Shard(Options options, Executor& executor, Clock& clock, Coordinator* coordinator,
        absl::AnyInvocable<void(const v1::Hello&)> on_start, absl::AnyInvocable<void(const Ending&)> on_end);

  // Starts the clock of the rendezvous.
  void Start();

  // A new stream, a stranger's. The session lives until its OnStreamEnd.
  Session& Open(FrameSink& sink);

  // Ends the run from outside (a signal).
  void Stop(const Ending& ending) { End(ending); }

  // Constants of the options, so for any thread. How many streams may be strangers' at once.
  int max_strangers() const { return options_.num_workers + kMoreStrangers; }
  // How many streams an adapter should have open at once: the members', the strangers', and as many that are ending.
  int max_streams() const { return options_.num_workers + 2 * max_strangers(); }
  // The largest frame that a worker of this run sends.
  size_t max_frame_bytes() const;

  // For tests and metrics; null until the first hello.
  const ParameterShard* parameters() const { return parameters_.get(); }
  // How many arrays its work has needed so far: constant in the steady state. Any thread.
  int64_t allocations() const { return pool_.allocations(); }

  // What the sessions call.
  //
  // Makes the session a member. FailedPrecondition: the hello disagrees with this shard's configuration or
  // with the first hello; names the field. InvalidArgument: malformed. Aborted: the run goes on without it.
  absl::Status Join(Session& session, const v1::Hello& hello);
  // Whether a frame of this generation counts: older ones do not, the first one is learned. FailedPrecondition:
  // a generation that the coordinator has not begun.
  absl::StatusOr<bool> AcceptGeneration(Generation generation);
  void OnMemberLost(const Session& session, const absl::Status& status);
  void OnMemberGoodbye(const Session& session, const v1::Goodbye& goodbye);
  // Ends the run because of a value that is not finite.
  void OnDiverged(const absl::Status& status) {
    End({.code = kExitDiverged, .message = std::string(status.message())});
  }
  // Ends the run because results cannot be stored.
  void OnStorageFailed(const absl::Status& status) {
    End({.code = kExitStorage, .message = std::string(status.message())});
  }
  // The shard's version may have risen: sessions that hold a push look again.
  void RetryHeld();
  // A stream that never was a member's was closed.
  void OnStrangerRefused(const absl::Status& why);
  void Remove(Session& session);
  bool running() const { return state_ == State::kRunning; }
  ParameterShard& mutable_parameters() { return *parameters_; }
  Coordinator* coordinator() { return coordinator_; }
  Generation generation() const { return generation_; }
  absl::Duration Now() const { return clock_.Steady(); }
  // What the reply to a pull of `block` is at most, as FrameSink counts it while it is unsent; 0 for what is no block.
  size_t ReplyBytes(BlockId block) const;
  // How much of replies one worker may have parked and unsent before it is thought not to read: two pulls of the
  // whole shard. One pull is under way at a time, and what is sent of the one before may not be counted yet.
  size_t max_reply_bytes() const { return max_reply_bytes_; }

 private:
  enum class State { kGathering, kRunning, kEnded };

  absl::Status CreateParameters(const v1::Hello& hello);
  void Fence(Session& older, Session& newer);
  void Watch();
  void CheckStrangers();
  void CheckRendezvous();
  void CheckProgress();
  void End(const Ending& ending);
  std::string StepName() const;
  int num_present() const;

  const Options options_;
  Executor& executor_;
  Clock& clock_;
  Coordinator* const coordinator_;
  absl::AnyInvocable<void(const v1::Hello&)> on_start_;
  absl::AnyInvocable<void(const Ending&)> on_end_;

  BufferPool pool_;
  State state_ = State::kGathering;
  std::string end_message_;  // why the run ended, for who comes late
  Generation generation_;
  std::list<std::unique_ptr<Session>> sessions_;
  std::vector<Session*> members_;  // by worker; null: absent, or has left
  std::vector<bool> done_;         // by worker: has said Goodbye{0}
  v1::Hello first_hello_;
  size_t max_reply_bytes_ = 0;
  int64_t strangers_refused_ = 0;  // since the last line about them
  std::optional<absl::Duration> last_refusal_notice_;
  std::unique_ptr<ParameterShard> parameters_;

  absl::Duration started_;        // steady time
  absl::Duration running_since_;  // steady time
  absl::Duration last_progress_;  // steady time when the complete version last rose or nothing was under way
  absl::Duration last_notice_;    // steady time of the last line about waiting
  Version last_version_;
  std::optional<absl::Duration> complete_since_;  // steady time when the run's last version was there
  Version retried_version_;  // at which held pushes were looked at last
  // Gone with this object: a timer may outlive it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ssd

#endif  // SSD_SERVER_SHARD_H_
