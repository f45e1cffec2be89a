#include "deploy/run/process_group.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/io/errno_status.h"
#include "common/status_macros.h"

namespace ssd {
namespace {

constexpr absl::Duration kReadyCheck = absl::Milliseconds(20);  // how late workers may start

bool IsIgnored(int signal) {
  struct sigaction action;
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

ChildEnding EndingOf(int child, int wait_status) {
  ChildEnding ending;
  ending.child = child;
  if (WIFSIGNALED(wait_status)) {
    ending.signal = WTERMSIG(wait_status);
    ending.code = 128 + ending.signal;
  } else {
    ending.code = WEXITSTATUS(wait_status);
  }
  return ending;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessGroup>> ProcessGroup::Create(const Clock& clock) {
  sigset_t signals;
  sigemptyset(&signals);
  // An ignored signal never reaches a descriptor. SIGINT is ignored in what a script starts with &, SIGCHLD
  // by odd parents; this program is meant to hear both. nohup's SIGHUP is the user's own wish.
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) {
    ::signal(signal, SIG_DFL);
    sigaddset(&signals, signal);
  }
  if (!IsIgnored(SIGHUP)) sigaddset(&signals, SIGHUP);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
    return absl::InternalError(absl::StrCat("cannot block signals: ", ErrnoText(error)));
  }
  const int fd = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) return absl::InternalError(absl::StrCat("cannot watch signals: ", ErrnoText(errno)));
  return std::unique_ptr<ProcessGroup>(new ProcessGroup(clock, fd));
}

ProcessGroup::~ProcessGroup() {
  for (const Child& child : children_) {
    if (child.alive) ::kill(-child.pid, SIGKILL);
  }
  for (const Child& child : children_) {
    while (child.alive && ::waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(signal_fd_);
}

absl::Status ProcessGroup::Start(const Command& command) {
  ASSIGN_OR_RETURN(const pid_t pid, Spawn(command));
  children_.push_back({.pid = pid, .alive = true});
  return absl::OkStatus();
}

absl::Status ProcessGroup::StartThoseThatWaited() {
  const std::vector<Command> commands = std::exchange(later_, {});
  for (const Command& command : commands) RETURN_IF_ERROR(Start(command));
  return absl::OkStatus();
}

absl::StatusOr<Supervisor::Outcome> ProcessGroup::Run(Supervisor::Options options, absl::Duration tick,
                                                      GroupObserver& observer) {
  options.workers_wait = !later_.empty();
  Supervisor supervisor(options);
  const auto act = [&](const Supervisor::Action& action, int received) {
    Send(action);
    if (action.signal != 0) observer.Acted(action, received);
  };
  absl::Duration next_tick = clock_.Steady() + tick;
  while (!supervisor.done()) {
    absl::Duration until = std::min(next_tick, supervisor.deadline()) - clock_.Steady();
    if (!later_.empty()) until = std::min(until, kReadyCheck);
    // Rounded up, so that it does not wake just before.
    const int64_t millis = std::max<int64_t>(0, absl::ToInt64Milliseconds(until) + 1);
    struct pollfd watched = {.fd = signal_fd_, .events = POLLIN, .revents = 0};
    ::poll(&watched, 1, static_cast<int>(std::min<int64_t>(millis, 60'000)));

    const std::vector<int> signals = ReadSignals();
    const std::vector<ChildEnding> endings = Reap();
    // The file that is shown is read before an ending is told, so that the last results come first.
    const bool tick_due = clock_.Steady() >= next_tick;
    if (tick_due || !endings.empty()) observer.Tick();
    if (tick_due) next_tick = clock_.Steady() + tick;
    if (!endings.empty() && observer.RunHasStarted()) supervisor.RunStarted();
    for (const ChildEnding& ending : endings) observer.ChildEnded(ending);
    supervisor.ChildrenEnded(endings, clock_.Steady());
    for (const int signal : signals) {
      if (signal != SIGCHLD) act(supervisor.Signalled(signal, clock_.Steady()), signal);
    }
    act(supervisor.DeadlineReached(clock_.Steady()), 0);
    if (!later_.empty() && supervisor.running() && observer.ServersAreReady()) {
      RETURN_IF_ERROR(StartThoseThatWaited());
      supervisor.WorkersStarted();
    }
  }
  observer.Tick();
  return supervisor.outcome();
}

std::vector<ChildEnding> ProcessGroup::Reap() {
  std::vector<ChildEnding> endings;
  for (size_t i = 0; i < children_.size(); ++i) {
    int wait_status = 0;
    if (!children_[i].alive || ::waitpid(children_[i].pid, &wait_status, WNOHANG) != children_[i].pid)
      continue;
    children_[i].alive = false;
    endings.push_back(EndingOf(static_cast<int>(i), wait_status));
  }
  return endings;
}

std::vector<int> ProcessGroup::ReadSignals() {
  std::vector<int> signals;
  struct signalfd_siginfo info;
  while (::read(signal_fd_, &info, sizeof info) == sizeof info)
    signals.push_back(static_cast<int>(info.ssi_signo));
  return signals;
}

void ProcessGroup::Send(const Supervisor::Action& action) {
  // To the child's group: helpers that it started end with it.
  for (const int child : action.children) ::kill(-children_[child].pid, action.signal);
}

}  // namespace ssd
