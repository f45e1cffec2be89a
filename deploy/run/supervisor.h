// Decides how a group of child processes comes to its end, and which of them is the reason.
//
//   from      event                             to        action
//   running   a child fails                     winding   deadline = now + peer_timeout + 5 s, or now where
//                                                         the run has not started and now never can
//   running   the last worker ends with 0       winding   deadline = now + peer_timeout + 5 s: servers end
//                                                         by themselves when workers are done
//   winding   deadline                          stopping  SIGTERM to the living; deadline = now + grace
//   running,  SIGINT, SIGTERM or SIGHUP         stopping  the signal (SIGTERM for SIGHUP) to the living;
//   winding                                               deadline = now + peer_timeout + 5 s: they finish
//                                                         a period
//   stopping  deadline, or a SIGINT that is     killing   SIGKILL to the living
//             not the first signal
//   any       the last child ended              done
//
// A run that has not started never can once a child failed on its own account (a cause, see below), or any
// child failed before the workers ran.
//
// The first cause: a child's failure is a cause or, where it says that others were lost or never came (200,
// 201), a consequence. The earliest cause wins; without one, the earliest consequence. How a child ends once
// it was told to end explains nothing. A signal to the launcher that came before any failure is the reason
// itself, unless every child ends with 0 all the same.
//
// A pure state machine: it starts nothing, waits for nothing and reads no clock. Not thread-safe.
#ifndef SSD_DEPLOY_RUN_SUPERVISOR_H_
#define SSD_DEPLOY_RUN_SUPERVISOR_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace ssd {

// How one child ended.
struct ChildEnding {
  int child = 0;   // index, as given to Supervisor
  int code = 0;    // its exit code; 128 + n if signal n ended it
  int signal = 0;  // n, or 0
};

class Supervisor {
 public:
  struct Options {
    int num_servers = 0;  // children [0, num_servers)
    int num_workers = 0;  // children [num_servers, num_servers + num_workers)
    absl::Duration peer_timeout;
    bool workers_wait = false;                 // no worker runs before WorkersStarted()
    absl::Duration grace = absl::Seconds(10);  // between SIGTERM and SIGKILL where a child hangs
  };

  // A signal to be sent to `children`.
  struct Action {
    int signal = 0;  // 0: nothing to do
    std::vector<int> children;
  };

  // Why the group ended.
  struct Outcome {
    int code = 0;                      // what the launcher exits with
    int signal = 0;                    // the launcher was asked to end by this signal, or 0
    std::optional<ChildEnding> first;  // the child whose failure came first
    bool hung = false;                 // workers were done, but not all servers ended by themselves
  };

  explicit Supervisor(const Options& options);

  // `endings`: children found to have ended at one moment, in no particular order. REQUIRES: each was alive.
  void ChildrenEnded(const std::vector<ChildEnding>& endings, absl::Duration now);
  // The workers that waited run now. REQUIRES: running().
  void WorkersStarted();
  // Training has begun.
  void RunStarted() { run_started_ = true; }
  // The launcher itself got `signal`.
  Action Signalled(int signal, absl::Duration now);
  // To be called at deadline(), or later.
  Action DeadlineReached(absl::Duration now);

  absl::Duration deadline() const { return deadline_; }  // InfiniteDuration: nothing is due
  bool done() const { return num_alive_ == 0; }
  bool running() const { return phase_ == Phase::kRunning; }
  bool winding_down() const { return phase_ == Phase::kWinding; }
  bool alive(int child) const { return alive_[child]; }
  // REQUIRES: done().
  Outcome outcome() const;

 private:
  enum class Phase { kRunning, kWinding, kStopping, kKilling };

  Action ToTheLiving(int signal);
  bool WorkersDone() const;

  Options options_;
  Phase phase_ = Phase::kRunning;
  bool workers_wait_;
  bool run_started_ = false;
  std::vector<bool> alive_;
  std::vector<bool> told_to_end_;
  int num_alive_;
  absl::Duration deadline_ = absl::InfiniteDuration();
  int signal_ = 0;                          // the first one that the launcher got
  std::optional<ChildEnding> cause_;        // the earliest failure that is a cause
  std::optional<ChildEnding> consequence_;  // the earliest failure that is none
  bool all_zero_ = true;
};

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_SUPERVISOR_H_
