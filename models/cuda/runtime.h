// What models/cuda asks of CUDA apart from libraries' handles: memory, three streams, events, copies, and work in a stream.
// Behind one interface, so that every call is checked in one place, and so that a test's double can tell what waits on what
// (tests/testing/recording_runtime.h) where there is no GPU.
//
// Work in one stream runs in order. Between streams, and between a stream and the host, only events and notifications order.
// Nothing here waits but Await. A call that fails ends the process (check.h), but for memory that is not there.
// Not thread-safe.
#ifndef SSD_MODELS_CUDA_RUNTIME_H_
#define SSD_MODELS_CUDA_RUNTIME_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>

#include "absl/functional/function_ref.h"
#include "models/cuda/kernels.h"

namespace ssd {

enum class CudaStream {
  kCompute,   // passes over batches, and local updates
  kToHost,    // gradients on their way to be pushed
  kToDevice,  // pulled weights
};
inline constexpr int kCudaStreams = 3;

// Memory that a piece of work touches, for whoever checks the order. The real runtime does not look at it.
struct MemoryAccess {
  const void* begin;
  int64_t bytes;
  bool is_write;
};
template <typename T>
MemoryAccess Reads(std::span<T> values) {
  return {values.data(), static_cast<int64_t>(values.size_bytes()), false};
}
template <typename T>
MemoryAccess Writes(std::span<T> values) {
  return {values.data(), static_cast<int64_t>(values.size_bytes()), true};
}

class CudaRuntime {
 public:
  // Where memory is: the device's, or the host's, kept in place so that copies need no detour.
  enum class Place { kDevice, kPinned };
  using Event = int;  // made by NewEvent; valid as long as the runtime

  virtual ~CudaRuntime() = default;

  // std::bad_alloc: there is no memory. Waits for the device; not for the steady state.
  virtual void* Allocate(Place place, int64_t bytes) = 0;
  virtual void Free(Place place, void* memory) = 0;

  virtual Event NewEvent() = 0;
  // `event` comes when all that is in `stream` so far is done.
  virtual void Record(Event event, CudaStream stream) = 0;
  // What is put into `stream` from now on starts after `event`, as it was recorded last.
  virtual void Order(Event event, CudaStream stream) = 0;
  // The host waits for `event`, as it was recorded last.
  virtual void Await(Event event) = 0;
  // Whether it has come.
  virtual bool HasCome(Event event) = 0;

  // Puts work into a stream. `to` and `from` are anywhere; where one is the host's, it is pinned.
  virtual void Copy(CudaStream stream, void* to, const void* from, int64_t bytes) = 0;
  virtual void Clear(CudaStream stream, void* memory, int64_t bytes) = 0;
  // `launch` puts kernels or a library's work into the stream that it is given, and returns. `name` is for people.
  virtual void Launch(CudaStream stream, const char* name, std::initializer_list<MemoryAccess> accesses,
                      absl::FunctionRef<void(const KernelStream& to)> launch) = 0;
  // Calls `notify` when all that is in `stream` so far is done, on a thread of CUDA's: it must not call CUDA, and takes
  // little time.
  virtual void Notify(CudaStream stream, std::function<void()> notify) = 0;
};

}  // namespace ssd

#endif  // SSD_MODELS_CUDA_RUNTIME_H_
