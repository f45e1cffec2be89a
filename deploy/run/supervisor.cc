#include "deploy/run/supervisor.h"

#include <algorithm>
#include <csignal>

#include "common/exit_code.h"

namespace ssd {
namespace {

// What a process says that noticed another one's end.
bool IsConsequence(const ChildEnding& ending) {
  return ending.code == kExitPeerLost || ending.code == kExitRendezvousTimeout;
}

// How long children have to end by themselves: they notice a lost peer within peer_timeout.
absl::Duration PeersNotice(const Supervisor::Options& options) {
  return options.peer_timeout + absl::Seconds(5);
}

}  // namespace

Supervisor::Supervisor(const Options& options)
    : options_(options),
      workers_wait_(options.workers_wait),
      alive_(options.num_servers + options.num_workers, true),
      told_to_end_(alive_.size(), false),
      num_alive_(options.num_servers + options.num_workers) {
  if (!workers_wait_) return;
  std::fill(alive_.begin() + options.num_servers, alive_.end(), false);
  num_alive_ = options.num_servers;
}

void Supervisor::WorkersStarted() {
  std::fill(alive_.begin() + options_.num_servers, alive_.end(), true);
  num_alive_ += options_.num_workers;
  workers_wait_ = false;
}

void Supervisor::ChildrenEnded(const std::vector<ChildEnding>& endings, absl::Duration now) {
  for (const ChildEnding& ending : endings) {
    alive_[ending.child] = false;
    --num_alive_;
    if (ending.code == kExitDone) continue;
    all_zero_ = false;
    if (told_to_end_[ending.child]) continue;
    std::optional<ChildEnding>& earliest = IsConsequence(ending) ? consequence_ : cause_;
    if (!earliest.has_value()) earliest = ending;
  }
  const bool failed = cause_.has_value() || consequence_.has_value();
  if (phase_ == Phase::kRunning && (failed || WorkersDone())) {
    phase_ = Phase::kWinding;
    deadline_ = now + PeersNotice(options_);
  }
  const bool is_hopeless = !run_started_ && (cause_.has_value() || (failed && workers_wait_));
  if (phase_ == Phase::kWinding && is_hopeless) deadline_ = now;
  if (done()) deadline_ = absl::InfiniteDuration();
}

Supervisor::Action Supervisor::Signalled(int signal, absl::Duration now) {
  if (done()) return {};
  const bool first = signal_ == 0;
  if (first) signal_ = signal;
  if (phase_ == Phase::kRunning || phase_ == Phase::kWinding) {
    phase_ = Phase::kStopping;
    deadline_ = now + PeersNotice(options_);
    return ToTheLiving(signal == SIGINT ? SIGINT : SIGTERM);
  }
  if (phase_ == Phase::kStopping && signal == SIGINT && !first) {
    phase_ = Phase::kKilling;
    deadline_ = absl::InfiniteDuration();
    return ToTheLiving(SIGKILL);
  }
  return {};
}

Supervisor::Action Supervisor::DeadlineReached(absl::Duration now) {
  if (now < deadline_) return {};
  if (phase_ == Phase::kWinding) {
    phase_ = Phase::kStopping;
    deadline_ = now + options_.grace;
    return ToTheLiving(SIGTERM);
  }
  phase_ = Phase::kKilling;
  deadline_ = absl::InfiniteDuration();
  return ToTheLiving(SIGKILL);
}

Supervisor::Outcome Supervisor::outcome() const {
  Outcome outcome;
  outcome.signal = signal_;
  outcome.first = cause_.has_value() ? cause_ : consequence_;
  if (outcome.first.has_value()) {
    outcome.code = outcome.first->code;
  } else if (signal_ != 0) {
    outcome.code = all_zero_ ? kExitDone : 128 + signal_;
  } else if (!all_zero_) {
    outcome.hung = true;
    outcome.code = kExitInternal;
  }
  return outcome;
}

Supervisor::Action Supervisor::ToTheLiving(int signal) {
  Action action;
  action.signal = signal;
  for (size_t child = 0; child < alive_.size(); ++child) {
    if (!alive_[child]) continue;
    told_to_end_[child] = true;
    action.children.push_back(static_cast<int>(child));
  }
  return action;
}

bool Supervisor::WorkersDone() const {
  if (workers_wait_) return false;
  for (int worker = options_.num_servers; worker < options_.num_servers + options_.num_workers; ++worker) {
    if (alive_[worker]) return false;
  }
  return true;
}

}  // namespace ssd
