#include "models/cuda/gpu.h"

#include <cuda_runtime_api.h>

#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "models/cuda/check.h"

namespace ssd {
namespace {

absl::Status DriverSays(const char* call, cudaError_t status) {
  return absl::FailedPreconditionError(
      absl::StrCat(call, ": ", cudaGetErrorName(status), ": ", cudaGetErrorString(status)));
}

class Gpu final : public CudaRuntime {
 public:
  explicit Gpu(int index) : index_(index) {
    Use();
    SSD_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, index));
    for (cudaStream_t& stream : streams_) {
      SSD_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
  }
  ~Gpu() override {
    Use();
    for (cudaStream_t stream : streams_) {
      SSD_CUDA_CHECK(cudaStreamSynchronize(stream));
      SSD_CUDA_CHECK(cudaStreamDestroy(stream));
    }
    for (cudaEvent_t event : events_) SSD_CUDA_CHECK(cudaEventDestroy(event));
  }

  void* Allocate(Place place, int64_t bytes) override {
    Use();
    void* memory = nullptr;
    const auto size = static_cast<size_t>(bytes);
    const cudaError_t status =
        place == Place::kDevice ? cudaMalloc(&memory, size) : cudaMallocHost(&memory, size);
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();  // or the next check would see it
      throw std::bad_alloc();
    }
    CheckCuda(status, place == Place::kDevice ? "cudaMalloc" : "cudaMallocHost", __FILE__, __LINE__);
    return memory;
  }
  void Free(Place place, void* memory) override {
    Use();
    if (place == Place::kDevice) {
      SSD_CUDA_CHECK(cudaFree(memory));
    } else {
      SSD_CUDA_CHECK(cudaFreeHost(memory));
    }
  }

  Event NewEvent() override {
    Use();
    // Without timing events are cheaper; the host sleeps in Await instead of spinning.
    SSD_CUDA_CHECK(
        cudaEventCreateWithFlags(&events_.emplace_back(), cudaEventDisableTiming | cudaEventBlockingSync));
    return static_cast<Event>(events_.size()) - 1;
  }
  void Record(Event event, CudaStream stream) override {
    SSD_CUDA_CHECK(cudaEventRecord(events_.at(event), Of(stream)));
  }
  void Order(Event event, CudaStream stream) override {
    SSD_CUDA_CHECK(cudaStreamWaitEvent(Of(stream), events_.at(event)));
  }
  void Await(Event event) override {
    Use();
    SSD_CUDA_CHECK(cudaEventSynchronize(events_.at(event)));
  }
  bool HasCome(Event event) override {
    Use();
    const cudaError_t status = cudaEventQuery(events_.at(event));
    if (status == cudaErrorNotReady) return false;
    CheckCuda(status, "cudaEventQuery", __FILE__, __LINE__);
    return true;
  }

  void Copy(CudaStream stream, void* to, const void* from, int64_t bytes) override {
    SSD_CUDA_CHECK(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, Of(stream)));
  }
  void Clear(CudaStream stream, void* memory, int64_t bytes) override {
    SSD_CUDA_CHECK(cudaMemsetAsync(memory, 0, static_cast<size_t>(bytes), Of(stream)));
  }
  void Launch(CudaStream stream, const char* /*name*/, std::initializer_list<MemoryAccess> /*accesses*/,
              absl::FunctionRef<void(const KernelStream& to)> launch) override {
    launch({.stream = Of(stream), .multiprocessors = multiprocessors_});
  }
  void Notify(CudaStream stream, std::function<void()> notify) override {
    auto owned = std::make_unique<std::function<void()>>(std::move(notify));
    SSD_CUDA_CHECK(cudaLaunchHostFunc(
        Of(stream),
        [](void* data) {
          const std::unique_ptr<std::function<void()>> taken(static_cast<std::function<void()>*>(data));
          (*taken)();
        },
        owned.get()));
    (void)owned.release();  // the stream's, which runs it once
  }

 private:
  // The device is a thread's setting.
  void Use() const { SSD_CUDA_CHECK(cudaSetDevice(index_)); }
  cudaStream_t Of(CudaStream stream) const {
    Use();
    return streams_[static_cast<int>(stream)];
  }

  const int index_;
  int multiprocessors_ = 0;
  cudaStream_t streams_[kCudaStreams] = {};
  std::vector<cudaEvent_t> events_;
};

}  // namespace

absl::StatusOr<GpuProperties> FindGpu(int index) {
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) {
    (void)cudaGetLastError();
    return DriverSays("cudaGetDeviceCount", status);
  }
  if (index < 0 || index >= count) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no GPU ", index, "; the driver sees ", count));
  }
  cudaDeviceProp properties;
  if (const cudaError_t status = cudaGetDeviceProperties(&properties, index); status != cudaSuccess) {
    return DriverSays("cudaGetDeviceProperties", status);
  }
  size_t free = 0;
  size_t total = 0;
  cudaError_t status = cudaSetDevice(index);
  if (status == cudaSuccess) status = cudaMemGetInfo(&free, &total);
  if (status != cudaSuccess) return DriverSays("cudaMemGetInfo", status);
  return GpuProperties{.name = properties.name,
                       .compute_capability = 10 * properties.major + properties.minor,
                       .multiprocessors = properties.multiProcessorCount,
                       .memory = static_cast<int64_t>(total),
                       .free_memory = static_cast<int64_t>(free)};
}

std::unique_ptr<CudaRuntime> OpenGpu(int index) { return std::make_unique<Gpu>(index); }

}  // namespace ssd
