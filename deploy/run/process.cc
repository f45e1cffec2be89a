#include "deploy/run/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/io/errno_status.h"

extern char** environ;

namespace ssd {
namespace {

// This process's environment with `changes` on top, as "NAME=value".
std::vector<std::string> Environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const char* equals = std::strchr(*entry, '=');
    if (equals == nullptr || changes.count(std::string(*entry, equals - *entry)) == 0)
      result.emplace_back(*entry);
  }
  for (const auto& [name, value] : changes) result.push_back(absl::StrCat(name, "=", value));
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

// The child between fork and exec: only calls that are safe after a fork. Writes errno to `report` where it
// fails.
[[noreturn]] void BecomeProgram(pid_t parent, int input, int log, int report, char* const* arguments,
                                char* const* environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before prctl took effect; then nobody will be told, and this child must not run.
  if (::getppid() != parent) ::_exit(1);
  ::setpgid(0, 0);
  for (int signal = 1; signal < NSIG; ++signal)
    ::signal(signal, SIG_DFL);  // fails for some, which have no handler
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  if (::dup2(input, STDIN_FILENO) >= 0 && ::dup2(log, STDOUT_FILENO) >= 0 &&
      ::dup2(log, STDERR_FILENO) >= 0) {
    ::execve(arguments[0], arguments, environment);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof error);
  ::_exit(1);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Close(); }
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

}  // namespace

absl::StatusOr<pid_t> Spawn(const Command& command) {
  Descriptor log(::open(command.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (log.get() < 0) return ErrnoStatus(errno, command.log_path, "open the log");
  Descriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int pipe[2];
  if (input.get() < 0 || ::pipe2(pipe, O_CLOEXEC) != 0) {
    return absl::InternalError(absl::StrCat("cannot open a pipe: ", ErrnoText(errno)));
  }
  Descriptor read_end(pipe[0]), write_end(pipe[1]);

  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = Environment(command.environment);
  const std::vector<char*> argument_pointers = Pointers(arguments);
  const std::vector<char*> environment_pointers = Pointers(environment);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return absl::InternalError(absl::StrCat("cannot start a process: ", ErrnoText(errno)));
  if (pid == 0) {
    BecomeProgram(parent, input.get(), log.get(), write_end.get(), argument_pointers.data(),
                  environment_pointers.data());
  }

  // The write end closes with a successful exec; so nothing to read means that the program runs.
  write_end.Close();
  int error = 0;
  ssize_t n;
  do {
    n = ::read(read_end.get(), &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  if (n == 0) return pid;
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return absl::FailedPreconditionError(
      absl::StrCat(command.arguments[0], ": cannot be run: ", ErrnoText(error)));
}

}  // namespace ssd
