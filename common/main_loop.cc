#include "common/main_loop.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/clock.h"
#include "common/logging.h"

namespace ssd {

MainLoop::MainLoop() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is told by write, like a full disk
  signals_ = signalfd(-1, &set, SFD_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC);
  CHECK(signals_ >= 0 && wake_ >= 0) << "no file descriptor left";
}

MainLoop::~MainLoop() {
  ::close(signals_);
  ::close(wake_);
}

void MainLoop::End(const Ending& ending) {
  {
    MutexLock lock(&mutex_);
    const bool outranks =
        ending_.has_value() && ending.code == kExitDiverged && ending_->code == kExitPeerLost;
    if (!ending_.has_value() || outranks) ending_ = ending;
  }
  eventfd_write(wake_, 1);
}

std::optional<Ending> MainLoop::ending() const {
  MutexLock lock(&mutex_);
  return ending_;
}

Ending MainLoop::Run(absl::FunctionRef<void(const Ending&)> stop, absl::Duration grace) {
  std::optional<Ending> asked;
  absl::Duration deadline = absl::InfiniteDuration();
  while (true) {
    if (const std::optional<Ending> ended = ending(); ended.has_value()) return *ended;
    const absl::Duration left = deadline - Clock::Real().Steady();
    if (left <= absl::ZeroDuration()) return *asked;
    pollfd files[2] = {{.fd = signals_, .events = POLLIN, .revents = 0},
                       {.fd = wake_, .events = POLLIN, .revents = 0}};
    const int timeout =
        deadline == absl::InfiniteDuration() ? -1 : static_cast<int>(absl::ToInt64Milliseconds(left)) + 1;
    if (::poll(files, 2, timeout) < 0) {
      CHECK_EQ(errno, EINTR);
      continue;
    }
    if ((files[0].revents & POLLIN) == 0) continue;
    signalfd_siginfo info;
    if (::read(signals_, &info, sizeof info) != sizeof info) continue;
    if (asked.has_value()) return *asked;
    const bool interrupted = info.ssi_signo == SIGINT;
    asked = Ending{.code = interrupted ? kExitInterrupted : kExitTerminated,
                   .message = interrupted ? "interrupted (SIGINT)" : "asked to stop (SIGTERM)"};
    LOG(INFO) << asked->message;
    deadline = Clock::Real().Steady() + grace;
    stop(*asked);
  }
}

int MainLoop::Report(const Ending& ending) {
  if (ending.code == kExitDone) {
    LOG(INFO) << "done exit code=0";
  } else {
    const std::vector<std::string> lines = absl::StrSplit(ending.message, '\n');
    if (lines.size() == 1) {
      LOG(ERROR) << "exit code=" << ending.code << ' ' << lines[0];
    } else {
      for (const std::string& line : lines) LOG(ERROR) << line;
      LOG(ERROR) << "exit code=" << ending.code << ' ' << lines.size() << " errors; the first: " << lines[0];
    }
  }
  return ending.code;
}

}  // namespace ssd
