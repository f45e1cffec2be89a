// What a hello says, compared and taken apart. Nothing in it is trusted. Pure functions.
#ifndef SSD_SERVER_HELLO_H_
#define SSD_SERVER_HELLO_H_

#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/parameter_layout.h"
#include "common/types.h"
#include "ssd/v1/parameter_service.pb.h"

namespace ssd {

// FailedPrecondition: the worker speaks another protocol, is none of this run's, looks for another shard, or has another
// value of one of `fields`; names the first of these and both values.
absl::Status CheckAgreement(const v1::Hello& hello, ShardId shard, int num_workers,
                            std::span<const std::pair<std::string, std::string>> fields);

// The worker's model. InvalidArgument: it has no parameters, two tensors of one name, or more tensors or floats than a
// model can have.
absl::StatusOr<ModelLayout> ReadModelLayout(const v1::Hello& hello);

}  // namespace ssd

#endif  // SSD_SERVER_HELLO_H_
