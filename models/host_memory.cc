#include "models/host_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "models/local_update_pass.h"

namespace ssd {
namespace {

constexpr size_t kAlignment = 64;  // a cache line, and the widest vector

float* AllocateZeros(int64_t size) {
  const size_t bytes =
      (std::max<int64_t>(size, 1) * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, bytes);
  return static_cast<float*>(memory);
}

}  // namespace

AlignedArray::AlignedArray(int64_t size) : DeviceArray(AllocateZeros(size), size) {}
AlignedArray::~AlignedArray() { std::free(data()); }

std::unique_ptr<DeviceArray> HostMemory::Allocate(int64_t size) {
  return std::make_unique<AlignedArray>(size);
}
void HostMemory::Upload(std::span<const float> from, float* to) { std::copy(from.begin(), from.end(), to); }
void HostMemory::Download(const float* from, std::span<float> to) {
  std::copy_n(from, to.size(), to.begin());
}
void HostMemory::Copy(std::span<const float> from, std::span<float> to) {
  std::copy(from.begin(), from.end(), to.begin());
}

void HostMemory::Sgd(const LocalStep& step, std::span<const float> g, std::span<float> x) {
  SgdPass(step, g, x);
}
void HostMemory::Glu(const LocalStep& step, std::span<const float> g, std::span<const float> global,
                     std::span<float> x) {
  GluPass(step, g, global, x);
}
void HostMemory::Momentum(const LocalStep& step, std::span<const float> g, std::span<float> u,
                          std::span<float> x) {
  MomentumPass(step, g, u, x);
}
void HostMemory::Accumulate(const LocalStep& step, std::span<const float> g, std::span<const float> x,
                            std::span<float> u) {
  AccumulatePass(step, g, x, u);
}
void HostMemory::GluMomentum(const LocalStep& step, std::span<const float> g, std::span<float> v,
                             std::span<float> x) {
  GluMomentumPass(step, g, v, x);
}
void HostMemory::GluPrototype(const LocalStep& step, bool renew, std::span<const float> g,
                              std::span<float> snapshot, std::span<float> x) {
  GluPrototypePass(step, renew, g, snapshot, x);
}
void HostMemory::DcLocal(const LocalStep& step, std::span<const float> g, std::span<const float> last,
                         std::span<float> x) {
  DcLocalPass(step, g, last, x);
}
void HostMemory::InstallDifference(float inverse_passed, std::span<const float> last,
                                   std::span<const float> pulled, std::span<float> difference,
                                   std::span<float> x) {
  InstallDifferencePass(inverse_passed, last, pulled, difference, x);
}
void HostMemory::InstallCorrection(float inverse_passed, std::span<const float> pulled, std::span<float> u,
                                   std::span<float> x) {
  InstallCorrectionPass(inverse_passed, pulled, u, x);
}

}  // namespace ssd
