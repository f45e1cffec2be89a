#include "common/buffer.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unordered_map>
#include <vector>

#include "common/logging.h"
#include "common/mutex.h"

namespace ssd {
namespace {

constexpr size_t kAlignment = 64;  // a cache line, and the widest vector register

class HeapAllocator final : public BufferAllocator {
 public:
  float* Allocate(size_t size) override {
    const size_t bytes = (size * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
    void* data = std::aligned_alloc(kAlignment, bytes == 0 ? kAlignment : bytes);
    if (data == nullptr) throw std::bad_alloc();
    return static_cast<float*>(data);
  }
  void Free(float* data) override { std::free(data); }
};

}  // namespace

std::shared_ptr<BufferAllocator> BufferAllocator::Heap() {
  static const auto& heap = *new std::shared_ptr<BufferAllocator>(std::make_shared<HeapAllocator>());
  return heap;
}

class BufferStorage {
 public:
  BufferStorage(size_t size, std::shared_ptr<BufferAllocator> allocator)
      : allocator_(std::move(allocator)), data_(allocator_->Allocate(size)), size_(size) {}
  BufferStorage(const BufferStorage&) = delete;
  BufferStorage& operator=(const BufferStorage&) = delete;
  ~BufferStorage() { allocator_->Free(data_); }

  float* data() const { return data_; }
  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref();

  std::shared_ptr<BufferPool::FreeLists> home;  // where the last reference returns it to; none: it is deleted

 private:
  const std::shared_ptr<BufferAllocator> allocator_;
  float* const data_;
  const size_t size_;
  std::atomic<int> references_{1};
};

struct BufferPool::FreeLists {
  explicit FreeLists(std::shared_ptr<BufferAllocator> allocator) : allocator(std::move(allocator)) {}
  ~FreeLists() {
    for (auto& [size, list] : by_size) {
      for (BufferStorage* storage : list) delete storage;
    }
  }
  const std::shared_ptr<BufferAllocator> allocator;
  Mutex mutex;
  std::unordered_map<size_t, std::vector<BufferStorage*>> by_size ABSL_GUARDED_BY(mutex);
  int64_t allocations ABSL_GUARDED_BY(mutex) = 0;
};

void BufferStorage::Unref() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (home == nullptr) {
    delete this;
    return;
  }
  // While it lies in the pool it does not keep the pool alive.
  const std::shared_ptr<BufferPool::FreeLists> lists = std::move(home);
  home = nullptr;
  MutexLock lock(&lists->mutex);
  lists->by_size[size_].push_back(this);
}

Buffer::Buffer(const Buffer& other) : storage_(other.storage_), data_(other.data_), size_(other.size_) {
  if (storage_ != nullptr) storage_->Ref();
}
Buffer::Buffer(Buffer&& other) noexcept
    : storage_(std::exchange(other.storage_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}
Buffer& Buffer::operator=(Buffer other) noexcept {
  std::swap(storage_, other.storage_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}
Buffer::~Buffer() {
  if (storage_ != nullptr) storage_->Unref();
}

Buffer Buffer::Copy(std::span<const float> values) {
  MutableBuffer copy = MutableBuffer::Allocate(values.size());
  if (!values.empty()) std::memcpy(copy.values().data(), values.data(), values.size_bytes());
  return std::move(copy).Freeze();
}

Buffer Buffer::Slice(size_t offset, size_t count) const {
  CHECK(offset <= size_ && count <= size_ - offset);
  Buffer slice = *this;
  slice.data_ += offset;
  slice.size_ = count;
  return slice;
}

MutableBuffer& MutableBuffer::operator=(MutableBuffer&& other) noexcept {
  std::swap(storage_, other.storage_);
  std::swap(size_, other.size_);
  return *this;
}
MutableBuffer::~MutableBuffer() {
  if (storage_ != nullptr) storage_->Unref();
}

MutableBuffer MutableBuffer::Allocate(size_t size) {
  MutableBuffer buffer;
  buffer.storage_ = new BufferStorage(size, BufferAllocator::Heap());
  buffer.size_ = size;
  return buffer;
}

std::span<float> MutableBuffer::values() const {
  if (storage_ == nullptr) return {};
  return {storage_->data(), size_};
}

Buffer MutableBuffer::Freeze() && {
  Buffer buffer;
  buffer.storage_ = std::exchange(storage_, nullptr);
  buffer.size_ = std::exchange(size_, 0);
  buffer.data_ = buffer.storage_ == nullptr ? nullptr : buffer.storage_->data();
  return buffer;
}

BufferPool::BufferPool(std::shared_ptr<BufferAllocator> allocator)
    : free_lists_(std::make_shared<FreeLists>(std::move(allocator))) {}
BufferPool::~BufferPool() = default;

MutableBuffer BufferPool::Acquire(size_t size) {
  MutableBuffer buffer;
  buffer.size_ = size;
  {
    MutexLock lock(&free_lists_->mutex);
    std::vector<BufferStorage*>& list = free_lists_->by_size[size];
    if (list.empty()) {
      ++free_lists_->allocations;
    } else {
      buffer.storage_ = list.back();
      list.pop_back();
      buffer.storage_->Ref();
    }
  }
  if (buffer.storage_ == nullptr) buffer.storage_ = new BufferStorage(size, free_lists_->allocator);
  buffer.storage_->home = free_lists_;
  return buffer;
}

int64_t BufferPool::allocations() const {
  MutexLock lock(&free_lists_->mutex);
  return free_lists_->allocations;
}

}  // namespace ssd
