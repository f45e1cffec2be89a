#include "tests/testing/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"

extern char** environ;

namespace ssd::testing {
namespace {

// The child between fork and exec: only calls that are safe after a fork.
[[noreturn]] void BecomeProgram(pid_t parent, int output, bool stopped, char* const* arguments,
                                char* const* environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  // What other threads have open just now would keep their pipes alive while this process is stopped.
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (stopped) ::kill(::getpid(), SIGSTOP);
  ::execve(arguments[0], arguments, environment);
  constexpr char kFailed[] = "cannot be run\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kFailed, sizeof kFailed - 1);
  ::_exit(127);
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Process::Process(std::string name, std::vector<std::string> arguments, Start start,
                 std::vector<std::string> variables)
    : name_(std::move(name)) {
  // Of two variables of one name the first counts.
  for (char** entry = environ; *entry != nullptr; ++entry) variables.push_back(*entry);
  const std::vector<char*> argument_pointers = Pointers(arguments);
  const std::vector<char*> variable_pointers = Pointers(variables);
  int pipe[2];
  CHECK_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  CHECK_GE(pid_, 0);
  if (pid_ == 0) {
    BecomeProgram(parent, pipe[1], start == Start::kStopped, argument_pointers.data(),
                  variable_pointers.data());
  }
  ::close(pipe[1]);
  output_fd_ = pipe[0];
  reader_ = std::thread([this] { Read(); });
}

Process::~Process() {
  if (!code_.has_value()) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  reader_.join();
  ::close(output_fd_);
}

void Process::Read() {
  char chunk[4096];
  while (true) {
    const ssize_t n = ::read(output_fd_, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    MutexLock lock(&mutex_);
    if (n > 0) output_.append(chunk, n);
    output_ended_ = n <= 0;
    more_.NotifyAll();
    if (output_ended_) return;
  }
}

std::optional<std::string> Process::WaitForLine(absl::string_view text) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  size_t begin = 0;  // of the line to look at
  MutexLock lock(&mutex_);
  while (true) {
    for (size_t end; (end = output_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      std::string line = output_.substr(begin, end - begin);
      if (line.find(std::string(text)) != std::string::npos) return line;
    }
    if (output_ended_ || !more_.WaitUntil(&mutex_, deadline)) return std::nullopt;
  }
}

std::optional<int> Process::Wait(std::chrono::milliseconds timeout) {
  if (code_.has_value()) return code_;
  if (!Onlooker(pid_).SeesTheEnd(timeout)) return std::nullopt;
  int status = 0;
  CHECK_EQ(::waitpid(pid_, &status, 0), pid_);
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  // The last lines have been written, but perhaps not read yet.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  MutexLock lock(&mutex_);
  while (!output_ended_ && more_.WaitUntil(&mutex_, deadline)) {
  }
  return code_;
}

void Process::Signal(int signal) {
  if (!code_.has_value()) ::kill(pid_, signal);
}

bool Process::Stop() {
  Signal(SIGSTOP);
  int status = 0;
  // WNOWAIT: an end is left to Wait().
  siginfo_t info;
  while (::waitid(P_PID, pid_, &info, WSTOPPED | WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR) return false;
  }
  return info.si_code == CLD_STOPPED && ::waitpid(pid_, &status, WUNTRACED) == pid_;
}

void Process::Continue() { Signal(SIGCONT); }

std::string Process::output() const {
  MutexLock lock(&mutex_);
  return output_;
}

std::string Process::LastLine() const {
  std::string text = output();
  if (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t end = text.rfind('\n');
  return end == std::string::npos ? text : text.substr(end + 1);
}

std::vector<pid_t> ProcessesNaming(absl::string_view text) {
  std::vector<pid_t> found;
  DIR* directory = ::opendir("/proc");
  CHECK(directory != nullptr);
  while (const dirent* entry = ::readdir(directory)) {
    int pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid) || pid == ::getpid()) continue;
    std::ostringstream line;
    line << std::ifstream(absl::StrCat("/proc/", pid, "/cmdline")).rdbuf();
    if (line.str().find(std::string(text)) != std::string::npos) found.push_back(pid);
  }
  ::closedir(directory);
  return found;
}

Onlooker::Onlooker(pid_t pid) : fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {
  CHECK(fd_ >= 0 || errno == ESRCH) << "pidfd_open: " << errno;
}

Onlooker::Onlooker(Onlooker&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Onlooker::~Onlooker() {
  if (fd_ >= 0) ::close(fd_);
}

bool Onlooker::SeesTheEnd(std::chrono::milliseconds timeout) const {
  if (fd_ < 0) return true;  // it was gone before
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now() + std::chrono::milliseconds(1));
    pollfd watched = {.fd = fd_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&watched, 1, static_cast<int>(std::max<int64_t>(0, left.count())));
    if (ready > 0) return true;
    if (ready == 0) return false;
  }
}

}  // namespace ssd::testing
