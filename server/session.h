// One worker's stream at one shard: reads its frames in their order, checks them, and turns them into calls.
//
//   state     on                            to
//   stranger  Hello that agrees             member
//   stranger  any other frame, or a bad     closed     nobody else notices
//             Hello; the shard expels it
//   member    Goodbye{0}                    left       its work is done
//   member    a bad frame, stream lost,     closed     the shard is told that a member is lost
//             Goodbye{cause}
//
// Not thread-safe: everything runs on the shard's executor. Nothing here waits: in deterministic mode a push
// that is too early is held, with all that follows it, and the adapter stops reading meanwhile.
#ifndef SSD_SERVER_SESSION_H_
#define SSD_SERVER_SESSION_H_

#include <deque>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/exit_code.h"
#include "common/types.h"
#include "common/wire/frame.h"
#include "server/frame_sink.h"

namespace ssd {

class Shard;

class Session {
 public:
  enum class State { kStranger, kMember, kLeft, kClosed };

  // The shard owns the session; `sink` outlives it.
  Session(Shard& shard, FrameSink& sink);

  // One frame from the worker. `consumed` is called when it is done with, now or later: the adapter reads on
  // by it.
  void OnFrame(WorkerFrame frame, absl::AnyInvocable<void()> consumed);

  // The stream has ended or its bytes were no frame; `status` says how. No other call follows.
  void OnStreamEnd(const absl::Status& status);

  // Looks again at a frame that was held.
  void Retry();

  // Ends the stream of a stranger that is in the way of others. REQUIRES: state() is kStranger.
  void Expel(const absl::Status& why);

  // Tells the worker that the run ends, and why, and closes the stream.
  void SendGoodbye(const Ending& ending);
  void SendWelcome();

  State state() const { return state_; }
  WorkerId worker() const { return worker_; }  // REQUIRES: a hello was accepted
  Incarnation incarnation() const { return incarnation_; }
  // Steady time; a stranger's: when its stream began.
  absl::Duration last_heard() const { return last_heard_; }

 private:
  struct Held {
    WorkerFrame frame;
    absl::AnyInvocable<void()> consumed;
  };

  void HandleAll();
  bool MustWait(const WorkerFrame& frame) const;
  absl::Status Handle(WorkerFrame& frame);
  absl::Status HandleHello(const v1::Hello& hello);
  absl::Status HandleGoodbye(const v1::Goodbye& goodbye);
  absl::Status HandlePush(WorkerFrame& frame);
  absl::Status HandlePull(const v1::Pull& pull);
  absl::Status HandleReport(const v1::WorkerHeader& header);
  // A value that is not finite is no fault of the frame: it ends the run, not the stream alone.
  absl::Status EndIfDiverged(absl::Status status);
  void Fail(const absl::Status& status);
  ServerFrame NewFrame() const;

  Shard& shard_;
  FrameSink& sink_;
  State state_ = State::kStranger;
  WorkerId worker_;
  Incarnation incarnation_;
  absl::Duration last_heard_;
  std::deque<Held> inbox_;  // front: being handled, or held
  bool handling_ = false;
  size_t parked_bytes_ = 0;  // of the replies to what is pulled and not answered yet
  // Gone with the session: a parked pull may outlive it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ssd

#endif  // SSD_SERVER_SESSION_H_
