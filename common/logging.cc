#include "common/logging.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace ssd {
namespace {

std::atomic<int> verbosity{0};
std::atomic<LogSeverity> min_severity{LogSeverity::kInfo};

std::string& LogName() {
  static std::string& name = *new std::string;  // never destroyed: other threads may log while the process ends
  return name;
}

}  // namespace

void SetLogName(const std::string& name) { LogName() = name; }
void SetVerbosity(int level) { verbosity = level; }
void SetMinLogSeverity(LogSeverity severity) { min_severity = severity; }
bool VlogIsOn(int level) { return level <= verbosity; }

LogMessage::LogMessage(LogSeverity severity, const char* file, int line) : severity_(severity) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const std::time_t seconds = micros / 1'000'000;
  std::tm local;
  localtime_r(&seconds, &local);
  char time[32], zone[8], prefix[64];
  std::strftime(time, sizeof time, "%m%d %H:%M:%S", &local);
  std::strftime(zone, sizeof zone, "%z", &local);
  std::snprintf(prefix, sizeof prefix, "%c%s.%06d %s ", "IWEF"[static_cast<int>(severity)], time,
                static_cast<int>(micros % 1'000'000), zone);
  const char* slash = std::strrchr(file, '/');
  stream_ << prefix << LogName() << (LogName().empty() ? "" : " ") << (slash ? slash + 1 : file) << ':' << line << "] ";
}

LogMessage::~LogMessage() {
  if (severity_ < min_severity && severity_ != LogSeverity::kFatal) return;
  stream_ << '\n';
  const std::string line = stream_.str();
  // One write a line; a full disk must not end a run only because it cannot be told about.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  if (severity_ == LogSeverity::kFatal) std::abort();
}

}  // namespace ssd
