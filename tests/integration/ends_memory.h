// How much memory a process has taken, for tests that hold it to a bound.
#ifndef SSD_TESTS_INTEGRATION_ENDS_MEMORY_H_
#define SSD_TESTS_INTEGRATION_ENDS_MEMORY_H_

#include <cstdint>
#include <string>
#include <thread>

#include "tests/testing/process.h"

namespace ssd {

inline constexpr int64_t kMiB = 1 << 20;

// The most memory that the process has had resident so far. A failure once it has ended.
int64_t PeakBytes(const testing::Process& process);

// Looks at that until the process ends, from a thread of its own. What it takes in its very last moment can be missed: the
// kernel's own account at the end would count what this process had when it started that one.
class PeakWatch {
 public:
  explicit PeakWatch(const testing::Process& process);
  PeakWatch(const PeakWatch&) = delete;
  PeakWatch& operator=(const PeakWatch&) = delete;
  ~PeakWatch();

  // The most that was seen, once the process has ended.
  int64_t Bytes();

 private:
  int64_t bytes_ = 0;  // the thread's until it is joined
  std::thread thread_;
};

// Under the address sanitizer a process keeps what it has freed, by default 256 MiB of it. While this lives, processes that
// are started do not.
class NoQuarantine {
 public:
  NoQuarantine();
  NoQuarantine(const NoQuarantine&) = delete;
  NoQuarantine& operator=(const NoQuarantine&) = delete;
  ~NoQuarantine();

 private:
  std::string before_;
};

}  // namespace ssd

#endif  // SSD_TESTS_INTEGRATION_ENDS_MEMORY_H_
