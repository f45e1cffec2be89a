#include "worker/worker_log.h"

#include "common/metrics/report_fields.h"

namespace ssd {

absl::Status WorkerLog::OnReport(const v1::Report& report) {
  bytes_pushed_ += report.bytes_pushed();
  bytes_pulled_ += report.bytes_pulled();
  nlohmann::ordered_json line = {{"split", "train"},
                                 {"step", report.step()},
                                 {"epoch", static_cast<double>(report.step()) / steps_per_epoch_},
                                 {"bytes_pushed", bytes_pushed_},
                                 {"bytes_pulled", bytes_pulled_}};
  line.update(ReportFields(report, /*workers=*/1));
  return metrics_.Write(line, static_cast<int64_t>(report.step()));
}

}  // namespace ssd
