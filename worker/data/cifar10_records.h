// The bytes of CIFAR-10's files (see cifar10.h), apart from where they lie. Whatever bytes are given: images, or an
// error that says which record or line is wrong.
//
// Pure functions.
#ifndef SSD_WORKER_DATA_CIFAR10_RECORDS_H_
#define SSD_WORKER_DATA_CIFAR10_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/data/image_set.h"

namespace ssd {

inline constexpr int64_t kCifar10RecordBytes = 1 + 3 * 32 * 32;
inline constexpr int kCifar10Classes = 10;

// What messages about missing or broken files end with.
inline constexpr absl::string_view kHowToFetchCifar10 =
    "deploy/data/fetch_cifar10.sh downloads and checks the data set";

// An empty set of 32 x 32 images with the data set's mean and standard deviation.
ImageSet EmptyCifar10(std::vector<std::string> class_names);

// Appends the `records` records that `content` has to be to `set`; after an error it holds those before the bad one.
// `name` is what errors call the content. DataLoss: another size, or a label above 9.
absl::Status AppendCifar10Records(absl::string_view content, int64_t records, absl::string_view name,
                                  ImageSet& set);

// DataLoss: `bytes` is not the size of `records` records.
absl::Status CheckCifar10Size(int64_t bytes, int64_t records, absl::string_view name);

// The names in batches.meta.txt, one a line; blank lines do not count. DataLoss: they are not ten.
absl::StatusOr<std::vector<std::string>> ParseCifar10ClassNames(absl::string_view content,
                                                                absl::string_view name);

}  // namespace ssd

#endif  // SSD_WORKER_DATA_CIFAR10_RECORDS_H_
