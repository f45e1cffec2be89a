#include "models/cuda/memory.h"

#include <cstring>

namespace ssd {
namespace {

class CudaArray final : public DeviceArray {
 public:
  CudaArray(CudaRuntime& runtime, int64_t size)
      : DeviceArray(static_cast<float*>(runtime.Allocate(CudaRuntime::Place::kDevice,
                                                         size * static_cast<int64_t>(sizeof(float)))),
                    size),
        runtime_(runtime) {
    runtime.Clear(CudaStream::kCompute, data(), size * static_cast<int64_t>(sizeof(float)));
  }
  ~CudaArray() override { runtime_.Free(CudaRuntime::Place::kDevice, data()); }

 private:
  CudaRuntime& runtime_;
};

}  // namespace

class CudaMemory::Allocator final : public BufferAllocator {
 public:
  Allocator(CudaRuntime& runtime, CudaRuntime::Place place) : runtime_(runtime), place_(place) {}

  float* Allocate(size_t size) override {
    return static_cast<float*>(runtime_.Allocate(place_, static_cast<int64_t>(size * sizeof(float))));
  }
  void Free(float* data) override { runtime_.Free(place_, data); }

 private:
  CudaRuntime& runtime_;
  const CudaRuntime::Place place_;
};

CudaMemory::CudaMemory(CudaRuntime& runtime)
    : runtime_(runtime),
      staged_pool_(std::make_shared<Allocator>(runtime, CudaRuntime::Place::kDevice)),
      pinned_(std::make_shared<Allocator>(runtime, CudaRuntime::Place::kPinned)),
      staged_(runtime.NewEvent()),
      read_(runtime.NewEvent()) {
  runtime_.Record(read_, CudaStream::kCompute);
}

CudaMemory::~CudaMemory() = default;

std::unique_ptr<DeviceArray> CudaMemory::Allocate(int64_t size) {
  return std::make_unique<CudaArray>(runtime_, size);
}

void CudaMemory::Upload(std::span<const float> from, float* to) {
  const MutableBuffer pinned = pinned_.Acquire(from.size());
  std::memcpy(pinned.values().data(), from.data(), from.size_bytes());
  runtime_.Copy(CudaStream::kCompute, to, pinned.values().data(), static_cast<int64_t>(from.size_bytes()));
  const CudaRuntime::Event copied = NewEvent();
  runtime_.Record(copied, CudaStream::kCompute);
  runtime_.Await(copied);
  free_events_.push_back(copied);
}

void CudaMemory::Download(const float* from, std::span<float> to) {
  const MutableBuffer pinned = pinned_.Acquire(to.size());
  runtime_.Copy(CudaStream::kCompute, pinned.values().data(), from, static_cast<int64_t>(to.size_bytes()));
  const CudaRuntime::Event copied = NewEvent();
  runtime_.Record(copied, CudaStream::kCompute);
  runtime_.Await(copied);
  free_events_.push_back(copied);
  std::memcpy(to.data(), pinned.values().data(), to.size_bytes());
}

void CudaMemory::Copy(std::span<const float> from, std::span<float> to) {
  BeforeStagedAreRead();
  runtime_.Copy(CudaStream::kCompute, to.data(), from.data(), static_cast<int64_t>(from.size_bytes()));
  AfterStagedAreRead();
}

Buffer CudaMemory::Stage(Buffer values) {
  ForgetCopied();
  MutableBuffer staged = staged_pool_.Acquire(values.size());
  runtime_.Order(read_, CudaStream::kToDevice);
  runtime_.Copy(CudaStream::kToDevice, staged.values().data(), values.values().data(),
                static_cast<int64_t>(values.size_bytes()));
  runtime_.Record(staged_, CudaStream::kToDevice);
  staged_is_new_ = true;
  const CudaRuntime::Event copied = NewEvent();
  runtime_.Record(copied, CudaStream::kToDevice);
  copying_.emplace_back(copied, std::move(values));
  return std::move(staged).Freeze();
}

CudaRuntime::Event CudaMemory::NewEvent() {
  if (free_events_.empty()) return runtime_.NewEvent();
  const CudaRuntime::Event event = free_events_.back();
  free_events_.pop_back();
  return event;
}

void CudaMemory::ForgetCopied() {
  while (!copying_.empty() && runtime_.HasCome(copying_.front().first)) {
    free_events_.push_back(copying_.front().first);
    copying_.pop_front();
  }
}

void CudaMemory::BeforeStagedAreRead() {
  if (staged_is_new_) runtime_.Order(staged_, CudaStream::kCompute);
  staged_is_new_ = false;
}

void CudaMemory::AfterStagedAreRead() { runtime_.Record(read_, CudaStream::kCompute); }

void CudaMemory::Sgd(const LocalStep& step, std::span<const float> g, std::span<float> x) {
  runtime_.Launch(CudaStream::kCompute, "sgd", {Reads(g), Writes(x)},
                  [&](const KernelStream& to) { LaunchSgd(to, step, g, x); });
}

void CudaMemory::Glu(const LocalStep& step, std::span<const float> g, std::span<const float> global,
                     std::span<float> x) {
  runtime_.Launch(CudaStream::kCompute, "glu", {Reads(g), Reads(global), Writes(x)},
                  [&](const KernelStream& to) { LaunchGlu(to, step, g, global, x); });
}

void CudaMemory::Momentum(const LocalStep& step, std::span<const float> g, std::span<float> u,
                          std::span<float> x) {
  runtime_.Launch(CudaStream::kCompute, "momentum", {Reads(g), Writes(u), Writes(x)},
                  [&](const KernelStream& to) { LaunchMomentum(to, step, g, u, x); });
}

void CudaMemory::Accumulate(const LocalStep& step, std::span<const float> g, std::span<const float> x,
                            std::span<float> u) {
  runtime_.Launch(CudaStream::kCompute, "accumulate velocity", {Reads(g), Reads(x), Writes(u)},
                  [&](const KernelStream& to) { LaunchAccumulateVelocity(to, step, g, x, u); });
}

void CudaMemory::GluMomentum(const LocalStep& step, std::span<const float> g, std::span<float> v,
                             std::span<float> x) {
  runtime_.Launch(CudaStream::kCompute, "glu_momentum", {Reads(g), Writes(v), Writes(x)},
                  [&](const KernelStream& to) { LaunchGluMomentum(to, step, g, v, x); });
}

void CudaMemory::GluPrototype(const LocalStep& step, bool renew, std::span<const float> g,
                              std::span<float> snapshot, std::span<float> x) {
  runtime_.Launch(CudaStream::kCompute, "glu_prototype", {Reads(g), Writes(snapshot), Writes(x)},
                  [&](const KernelStream& to) { LaunchGluPrototype(to, step, renew, g, snapshot, x); });
}

void CudaMemory::DcLocal(const LocalStep& step, std::span<const float> g, std::span<const float> last,
                         std::span<float> x) {
  BeforeStagedAreRead();
  runtime_.Launch(CudaStream::kCompute, "dc_local", {Reads(g), Reads(last), Writes(x)},
                  [&](const KernelStream& to) { LaunchDcLocal(to, step, g, last, x); });
  AfterStagedAreRead();
}

void CudaMemory::InstallDifference(float inverse_passed, std::span<const float> last,
                                   std::span<const float> pulled, std::span<float> difference,
                                   std::span<float> x) {
  BeforeStagedAreRead();
  runtime_.Launch(CudaStream::kCompute, "install, difference",
                  {Reads(last), Reads(pulled), Writes(difference), Writes(x)}, [&](const KernelStream& to) {
                    LaunchInstallDifference(to, inverse_passed, last, pulled, difference, x);
                  });
  AfterStagedAreRead();
}

void CudaMemory::InstallCorrection(float inverse_passed, std::span<const float> pulled, std::span<float> u,
                                   std::span<float> x) {
  BeforeStagedAreRead();
  runtime_.Launch(CudaStream::kCompute, "install, correction", {Reads(pulled), Writes(u), Writes(x)},
                  [&](const KernelStream& to) { LaunchInstallCorrection(to, inverse_passed, pulled, u, x); });
  AfterStagedAreRead();
}

}  // namespace ssd
