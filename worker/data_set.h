// The data sets by name, as an experiment file names them.
#ifndef SSD_WORKER_DATA_SET_H_
#define SSD_WORKER_DATA_SET_H_

#include "absl/status/statusor.h"
#include "common/io/disk.h"
#include "ssd/v1/experiment.pb.h"
#include "worker/data/image_set.h"

namespace ssd {

// Reads or generates what `experiment.data` names. Errors: those of the data set's reader.
absl::StatusOr<ImageData> LoadDataSet(const v1::Experiment& experiment, Disk& disk);

}  // namespace ssd

#endif  // SSD_WORKER_DATA_SET_H_
