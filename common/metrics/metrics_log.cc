#include "common/metrics/metrics_log.h"

#include <utility>
#include <vector>

#include "common/metrics/scalar_tags.h"
#include "common/status_macros.h"

namespace ssd {

MetricsLog::MetricsLog(Clock& clock, Disk& disk, Options options)
    : clock_(clock), disk_(disk), options_(std::move(options)) {}

absl::Status MetricsLog::Write(const nlohmann::ordered_json& line, int64_t step) {
  const absl::Time now = clock_.Wall();
  RETURN_IF_ERROR(WriteLine(now, line));
  return WriteEvent(now, line, step);
}

absl::Status MetricsLog::WriteLine(absl::Time now, const nlohmann::ordered_json& line) {
  if (options_.lines_path.empty()) return absl::OkStatus();
  if (lines_ == nullptr) {
    ASSIGN_OR_RETURN(lines_, disk_.CreateNew(options_.lines_path));
  }
  nlohmann::ordered_json whole = {
      {"ts", absl::FormatTime("%Y-%m-%dT%H:%M:%E3S%Ez", now, absl::LocalTimeZone())}};
  whole.update(line);
  return lines_->Append(whole.dump() + "\n");
}

absl::Status MetricsLog::WriteEvent(absl::Time now, const nlohmann::ordered_json& line, int64_t step) {
  if (options_.event_directory.empty()) return absl::OkStatus();
  if (events_ == nullptr) {
    ASSIGN_OR_RETURN(events_, EventFile::Create(disk_, options_.event_directory, options_.source, now));
  }
  const std::vector<Scalar> scalars = ScalarsOf(line);
  return scalars.empty() ? absl::OkStatus() : events_->Append(now, step, scalars);
}

}  // namespace ssd
