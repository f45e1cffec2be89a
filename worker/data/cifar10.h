// Reads CIFAR-10 (Krizhevsky 2009) in its binary version, and trusts nothing in it.
//
//   data_batch_1.bin .. data_batch_5.bin, test_batch.bin: 10,000 records each
//   record, 3073 bytes:  label (0..9) | 1024 red | 1024 green | 1024 blue     each plane row by row, 32 x 32
//   batches.meta.txt:    the ten names, one a line, in label order; may be missing, as they are well known
#ifndef SSD_WORKER_DATA_CIFAR10_H_
#define SSD_WORKER_DATA_CIFAR10_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/io/disk.h"
#include "worker/data/image_set.h"

namespace ssd {

// Where the files are: `configured` (data.path) unless empty, else the environment variable SSD_DATA_DIR.
// NotFound, saying both ways and how to fetch the files, where neither is set.
absl::StatusOr<std::string> ResolveDataPath(const std::string& configured);

// All 50,000 training and 10,000 test images, with the training set's mean and standard deviation.
// NotFound: a file is missing; the message names the path tried and the command that fetches the data set.
// DataLoss: a file of the wrong size (names file, size seen and wanted), a label above 9 (names file and
// record), or class names that are not ten. Other codes: the disk's own errors.
absl::StatusOr<ImageData> LoadCifar10(const std::string& directory, Disk& disk);

// Whether the six files of images are there and have their sizes, at the cost of a look at their names: for a
// launcher, which says so before it starts processes. Errors as LoadCifar10.
absl::Status CheckCifar10(const std::string& directory);

}  // namespace ssd

#endif  // SSD_WORKER_DATA_CIFAR10_H_
