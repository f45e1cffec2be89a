#include "models/cuda/gradient_download.h"

#include <utility>

#include "common/logging.h"

namespace ssd {

GradientDownload::GradientDownload(CudaRuntime& runtime, Executor& executor, int64_t size)
    : runtime_(runtime),
      executor_(executor),
      size_(size),
      gradient_(static_cast<float*>(
          runtime.Allocate(CudaRuntime::Place::kDevice, size * static_cast<int64_t>(sizeof(float))))) {}

GradientDownload::~GradientDownload() { runtime_.Free(CudaRuntime::Place::kDevice, gradient_); }

void GradientDownload::Begin(std::span<float> host, Model::GradientReady ready) {
  CHECK_EQ(static_cast<int64_t>(host.size()), size_);
  CHECK(done_ == nullptr) << "the last pass has not ended";
  host_ = host;
  ready_ = std::move(ready);
  copied_from_ = size_;
  copies_ = 0;
}

void GradientDownload::Final(int64_t first) {
  CHECK(0 <= first && first < copied_from_) << first;
  const int64_t bytes = (copied_from_ - first) * static_cast<int64_t>(sizeof(float));
  if (bytes < kLeastBytes && first > 0) return;
  if (copies_ == finals_.size()) finals_.push_back(runtime_.NewEvent());
  const CudaRuntime::Event final = finals_[copies_++];
  runtime_.Record(final, CudaStream::kCompute);
  runtime_.Order(final, CudaStream::kToHost);
  runtime_.Copy(CudaStream::kToHost, host_.data() + first, gradient_ + first, bytes);
  Post([this, first] { ready_(first); });
  copied_from_ = first;
}

void GradientDownload::End(absl::AnyInvocable<void()> done) {
  CHECK_EQ(copied_from_, 0);
  done_ = std::move(done);
  Post([this] { std::exchange(done_, nullptr)(); });
}

void GradientDownload::Post(std::function<void()> task) {
  runtime_.Notify(CudaStream::kToHost,
                  [&executor = executor_, task = std::move(task), alive = std::weak_ptr<bool>(alive_)] {
                    executor.Post([task, alive] {
                      if (!alive.expired()) task();
                    });
                  });
}

}  // namespace ssd
