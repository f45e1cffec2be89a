// Writes lines of metrics: as they are to metrics.jsonl, and their numbers to a TensorBoard event file, so
// that the two cannot differ.
#ifndef SSD_COMMON_METRICS_METRICS_LOG_H_
#define SSD_COMMON_METRICS_METRICS_LOG_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/io/disk.h"
#include "common/io/event_file.h"

namespace ssd {

// Not thread-safe. Files come into being with the first line, and each line is in them when Write returns.
class MetricsLog {
 public:
  struct Options {
    std::string lines_path;       // metrics.jsonl; empty: none
    std::string event_directory;  // empty: no event file
    EventSource source;           // for the event file's name
  };

  MetricsLog(Clock& clock, Disk& disk, Options options);

  // Writes `line`, which has a `split`, with the wall time as `ts` before it. Its numbers become an event at
  // `step`. Fails as the disk does.
  absl::Status Write(const nlohmann::ordered_json& line, int64_t step);

 private:
  absl::Status WriteLine(absl::Time now, const nlohmann::ordered_json& line);
  absl::Status WriteEvent(absl::Time now, const nlohmann::ordered_json& line, int64_t step);

  Clock& clock_;
  Disk& disk_;
  const Options options_;
  std::unique_ptr<WritableFile> lines_;
  std::unique_ptr<EventFile> events_;
};

}  // namespace ssd

#endif  // SSD_COMMON_METRICS_METRICS_LOG_H_
