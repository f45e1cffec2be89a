// A program under test: a real process whose output is read as it comes.
//
//   Process worker("worker 0", {"/path/to/ssd-worker", "--worker", "0"});
//   ASSERT_TRUE(worker.WaitForLine("step done step=3"));
//   worker.Signal(SIGKILL);
//   EXPECT_EQ(worker.Wait(), 128 + SIGKILL);
//
// Nothing here sleeps: waiting is for a line, for a stop or for the end, and has a deadline. The process is
// killed when the object goes, and by the kernel when the thread that made it ends.
//
// Thread-compatible; a thread of its own reads the output.
#ifndef SSD_TESTS_TESTING_PROCESS_H_
#define SSD_TESTS_TESTING_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/mutex.h"

namespace ssd::testing {

// Long enough for a busy machine; no test that passes comes near it.
inline constexpr std::chrono::seconds kPatience{40};

class Process {
 public:
  enum class Start { kRunning, kStopped };

  // `arguments[0]` is the program's path. `variables`: "NAME=value", on top of this process's own. kStopped:
  // the process stops itself before the program begins, until Continue().
  Process(std::string name, std::vector<std::string> arguments, Start start = Start::kRunning,
          std::vector<std::string> variables = {});
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  // The first line of the output with `text` in it, once it is there. None: the output ended without it, or
  // the deadline passed.
  std::optional<std::string> WaitForLine(absl::string_view text);

  // The exit code once the process has ended, 128 + n where signal n ended it. None: it runs on.
  std::optional<int> Wait(std::chrono::milliseconds timeout = kPatience);

  void Signal(int signal);
  // SIGSTOP. Returns when the process stands still; false when it has ended instead.
  bool Stop();
  void Continue();

  pid_t pid() const { return pid_; }
  const std::string& name() const { return name_; }
  std::string output() const;    // standard output and standard error so far
  std::string LastLine() const;  // of the output, without its end

 private:
  void Read();

  const std::string name_;
  pid_t pid_ = -1;
  int output_fd_ = -1;
  std::optional<int> code_;  // once the process is reaped

  mutable Mutex mutex_;
  CondVar more_;
  std::string output_ ABSL_GUARDED_BY(mutex_);
  bool output_ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread reader_;
};

// All processes whose command line contains `text`, but this one.
std::vector<pid_t> ProcessesNaming(absl::string_view text);

// Somebody else's process, to be seen ending. Refers to the process itself, also when its id is used again.
class Onlooker {
 public:
  explicit Onlooker(pid_t pid);
  Onlooker(Onlooker&& other) noexcept;
  Onlooker& operator=(Onlooker&&) = delete;
  ~Onlooker();

  // Whether it has ended, at once or within the time.
  bool SeesTheEnd(std::chrono::milliseconds timeout = kPatience) const;

 private:
  int fd_;
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_TESTING_PROCESS_H_
