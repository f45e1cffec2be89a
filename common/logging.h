// LOG, VLOG and CHECK, under the names and with the meaning of a later Abseil's absl/log.
//
//   LOG(INFO) << "worker joined worker=" << id;
//   VLOG(1) << ...;                    // shown where SetVerbosity(1) or more was called
//   CHECK(ok) << "why";  CHECK_EQ(a, b);   // for what only a bug can do: prints and aborts
//
// One line a message on standard error: "I1130 15:04:05.123456 +0000 worker-0 trainer.cc:42] text". Thread-safe; a
// line is one write, so that lines of several processes on one file do not mix. A write that fails (disk full) is dropped.
#ifndef SSD_COMMON_LOGGING_H_
#define SSD_COMMON_LOGGING_H_

#include <sstream>
#include <string>

namespace ssd {

enum class LogSeverity { kInfo, kWarning, kError, kFatal };

// Names the process in every line from now on ("worker-0"). To be called once, at the start of main.
void SetLogName(const std::string& name);
void SetVerbosity(int level);
// Messages below `severity` are not written; all are at first. Fatal ones always are.
void SetMinLogSeverity(LogSeverity severity);
bool VlogIsOn(int level);

// Collects one message and writes it when destroyed; kFatal then aborts.
class LogMessage {
 public:
  LogMessage(LogSeverity severity, const char* file, int line);
  LogMessage(const LogMessage&) = delete;
  LogMessage& operator=(const LogMessage&) = delete;
  ~LogMessage();
  std::ostream& stream() { return stream_; }

 private:
  const LogSeverity severity_;
  std::ostringstream stream_;
};

// Turns a stream expression into void, so that it fits in a conditional expression.
struct LogVoidify {
  void operator&(std::ostream&) {}
};

}  // namespace ssd

#define SSD_LOG_SEVERITY_INFO ::ssd::LogSeverity::kInfo
#define SSD_LOG_SEVERITY_WARNING ::ssd::LogSeverity::kWarning
#define SSD_LOG_SEVERITY_ERROR ::ssd::LogSeverity::kError
#define SSD_LOG_SEVERITY_FATAL ::ssd::LogSeverity::kFatal
#define LOG(severity) ::ssd::LogMessage(SSD_LOG_SEVERITY_##severity, __FILE__, __LINE__).stream()

// NOLINTBEGIN(bugprone-macro-parentheses): the message follows with <<, which parentheses around the whole would cut off.
#define VLOG(level) !::ssd::VlogIsOn(level) ? (void)0 : ::ssd::LogVoidify() & LOG(INFO)
#define CHECK(condition) \
  (condition) ? (void)0 : ::ssd::LogVoidify() & LOG(FATAL) << "check failed: " #condition " "
#define SSD_CHECK_OP(a, op, b) \
  ((a)op(b)) ? (void)0         \
             : ::ssd::LogVoidify() & LOG(FATAL) << "check failed: " #a " " #op " " #b " (" << (a) << " and " << (b) << ") "
// NOLINTEND(bugprone-macro-parentheses)

#define CHECK_EQ(a, b) SSD_CHECK_OP(a, ==, b)
#define CHECK_LT(a, b) SSD_CHECK_OP(a, <, b)
#define CHECK_LE(a, b) SSD_CHECK_OP(a, <=, b)
#define CHECK_GT(a, b) SSD_CHECK_OP(a, >, b)
#define CHECK_GE(a, b) SSD_CHECK_OP(a, >=, b)
#define CHECK_OK(expression)                                      \
  do {                                                            \
    const auto ssd_check_status_ = (expression);                  \
    CHECK(ssd_check_status_.ok()) << ssd_check_status_.ToString(); \
  } while (false)

#endif  // SSD_COMMON_LOGGING_H_
