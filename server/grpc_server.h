// Listens for one shard.
#ifndef SSD_SERVER_GRPC_SERVER_H_
#define SSD_SERVER_GRPC_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/executor.h"
#include "server/shard.h"

namespace ssd {

class GrpcServer {
 public:
  // Cuts the streams that Shutdown has not ended; the shard's executor must run.
  virtual ~GrpcServer() = default;

  // Ends the streams that do not end by themselves within `grace`, and stops listening. Returns when all have
  // ended; the shard's executor must run until then.
  virtual void Shutdown(absl::Duration grace) = 0;

  // The TCP port; the one that was free where the address asked for port 0.
  virtual int port() const = 0;

  // How many arrays the payloads of the workers' frames have needed so far: constant in the steady state.
  virtual int64_t allocations() const = 0;

  // `address`: host:port or unix:/path. The shard and the executor outlive the server.
  // AlreadyExists: the address is in use. InvalidArgument: it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const std::string& address, Shard& shard,
                                                           Executor& executor, absl::Duration peer_timeout);
};

}  // namespace ssd

#endif  // SSD_SERVER_GRPC_SERVER_H_
