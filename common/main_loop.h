// What a main thread does while others work: waits for the end of the process's work, or for a signal.
#ifndef SSD_COMMON_MAIN_LOOP_H_
#define SSD_COMMON_MAIN_LOOP_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "common/exit_code.h"
#include "common/mutex.h"

namespace ssd {

class MainLoop {
 public:
  // Takes SIGINT and SIGTERM for this process, and ignores SIGPIPE and SIGXFSZ. To be made on the main thread
  // before any other thread starts, so that all of them leave the signals to this one.
  MainLoop();
  MainLoop(const MainLoop&) = delete;
  MainLoop& operator=(const MainLoop&) = delete;
  ~MainLoop();

  // The work has ended. The first call counts, but a diverged run outranks a lost peer, which is its
  // consequence. Thread-safe.
  void End(const Ending& ending);

  // Waits for End. A signal calls `stop` with the ending that it asks for (code 130 or 143), once, and then
  // waits for End for at most `grace`; a second signal, or the end of the grace, returns that ending at once.
  Ending Run(absl::FunctionRef<void(const Ending&)> stop, absl::Duration grace);

  // Says `ending` in the last line of the log, for people and for ssd-run. Returns its code. A
  // message of several lines, one an error, is told before; the last line then has the first of them.
  static int Report(const Ending& ending);

 private:
  std::optional<Ending> ending() const;

  int signals_;  // signalfd
  int wake_;     // eventfd: readable after End
  mutable Mutex mutex_;
  std::optional<Ending> ending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ssd

#endif  // SSD_COMMON_MAIN_LOOP_H_
