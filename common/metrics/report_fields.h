// What a training report says, as fields of a line of metrics; docs/run_folder.md explains each.
#ifndef SSD_COMMON_METRICS_REPORT_FIELDS_H_
#define SSD_COMMON_METRICS_REPORT_FIELDS_H_

#include <nlohmann/json.hpp>

#include "ssd/v1/parameter_service.pb.h"

namespace ssd {

// The value, or null: JSON knows no NaN and no infinity.
nlohmann::ordered_json FiniteOrNull(double value);

// The means over an interval, from `sum`, the sum of `workers` reports (or one worker's own, and 1):
//
//   loss, accuracy      a sample
//   samples_per_second  of all these workers together
//   wait_fraction       of the wall time
//   time                of one step of one worker, in seconds: data, compute, local_update, push, wait
//
// 0 where the report covers nothing. A pure function.
nlohmann::ordered_json ReportFields(const v1::Report& sum, int workers);

}  // namespace ssd

#endif  // SSD_COMMON_METRICS_REPORT_FIELDS_H_
