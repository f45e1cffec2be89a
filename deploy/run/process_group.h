// The processes of one run, from their start to the last one's end, as Supervisor decides it.
//
// Everything happens on the thread that owns the group, which must be the main thread (see Spawn). It sleeps
// in poll() until a child ends, a signal arrives, a deadline passes or the observer wants its tick.
#ifndef SSD_DEPLOY_RUN_PROCESS_GROUP_H_
#define SSD_DEPLOY_RUN_PROCESS_GROUP_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "deploy/run/process.h"
#include "deploy/run/supervisor.h"

namespace ssd {

// Told of what happens, in its order. Must not block.
class GroupObserver {
 public:
  virtual ~GroupObserver() = default;
  virtual void Tick() {}
  virtual void ChildEnded(const ChildEnding& ending) { (void)ending; }
  // Whether the servers are ready for the workers; asked until it is true.
  virtual bool ServersAreReady() { return true; }
  // Whether training has begun; asked when a child has ended, after a Tick.
  virtual bool RunHasStarted() { return true; }
  // `action` was taken; `received`: the signal that the launcher got and that led to it, or 0 for a deadline.
  virtual void Acted(const Supervisor::Action& action, int received) { (void)action, (void)received; }
};

class ProcessGroup {
 public:
  // Takes SIGINT, SIGTERM, SIGCHLD and, unless it is ignored (nohup), SIGHUP for itself: from now on they are
  // blocked and read from a descriptor, so that none is lost, and none interrupts anything. Internal: the
  // system refuses.
  static absl::StatusOr<std::unique_ptr<ProcessGroup>> Create(const Clock& clock);
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  // Kills and awaits what still runs.
  ~ProcessGroup();

  // Starts another child; its index is the number of those before. Fails as Spawn does.
  absl::Status Start(const Command& command);
  // Leaves it to Run to start `command`, when the servers are ready.
  void StartLater(Command command) { later_.push_back(std::move(command)); }
  pid_t pid(int child) const { return children_[child].pid; }

  // Returns when all children have ended. REQUIRES: the children are the servers and workers of `options`, in
  // order; all workers may be ones to be started later, or none. `tick`: how often the observer's Tick is
  // called; once more after the last child. Fails as Spawn does where a worker cannot be started.
  absl::StatusOr<Supervisor::Outcome> Run(Supervisor::Options options, absl::Duration tick,
                                          GroupObserver& observer);

 private:
  struct Child {
    pid_t pid = 0;
    bool alive = false;
  };

  ProcessGroup(const Clock& clock, int signal_fd) : clock_(clock), signal_fd_(signal_fd) {}

  absl::Status StartThoseThatWaited();
  std::vector<ChildEnding> Reap();
  std::vector<int> ReadSignals();
  void Send(const Supervisor::Action& action);

  const Clock& clock_;
  const int signal_fd_;
  std::vector<Child> children_;
  std::vector<Command> later_;  // not started yet
};

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_PROCESS_GROUP_H_
