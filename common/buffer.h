// Floats with shared, counted ownership: what weights, gradients and payloads are passed around in.
//
// A MutableBuffer is unique and writable; Freeze() turns it into a Buffer, which is immutable and may be shared between
// threads, sliced, and sent. The last reference returns the memory to the BufferPool it came from, so that the steady
// state of a run allocates nothing.
//
// Buffer and MutableBuffer are handles with the thread safety of a shared_ptr; BufferPool is thread-safe, and its
// memory lives until pool and buffers are all gone.
#ifndef SSD_COMMON_BUFFER_H_
#define SSD_COMMON_BUFFER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace ssd {

class BufferStorage;  // a reference-counted array; see buffer.cc

class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer& other);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer other) noexcept;
  ~Buffer();

  // A copy of `values` outside any pool.
  static Buffer Copy(std::span<const float> values);

  std::span<const float> values() const { return {data_, size_}; }
  size_t size() const { return size_; }
  size_t size_bytes() const { return size_ * sizeof(float); }
  bool empty() const { return size_ == 0; }

  // Shares this buffer's memory. REQUIRES: offset + count <= size().
  Buffer Slice(size_t offset, size_t count) const;

 private:
  friend class MutableBuffer;
  BufferStorage* storage_ = nullptr;
  const float* data_ = nullptr;
  size_t size_ = 0;
};

class MutableBuffer {
 public:
  MutableBuffer() = default;
  MutableBuffer(MutableBuffer&& other) noexcept { *this = std::move(other); }
  MutableBuffer& operator=(MutableBuffer&& other) noexcept;
  ~MutableBuffer();

  // `size` floats, their values unspecified, outside any pool.
  static MutableBuffer Allocate(size_t size);

  std::span<float> values() const;
  size_t size() const { return size_; }

  Buffer Freeze() &&;

 private:
  friend class BufferPool;
  BufferStorage* storage_ = nullptr;
  size_t size_ = 0;
};

// Where the arrays of buffers come from. Thread-safe.
class BufferAllocator {
 public:
  virtual ~BufferAllocator() = default;

  // `size` floats; std::bad_alloc where there is no memory.
  virtual float* Allocate(size_t size) = 0;
  virtual void Free(float* data) = 0;

  // The heap, aligned to a cache line.
  static std::shared_ptr<BufferAllocator> Heap();
};

// Keeps returned arrays by their exact size, for the sizes of blocks are few.
class BufferPool {
 public:
  explicit BufferPool(std::shared_ptr<BufferAllocator> allocator = BufferAllocator::Heap());
  ~BufferPool();

  // `size` floats, their values unspecified.
  MutableBuffer Acquire(size_t size);

  // Arrays that Acquire had to allocate so far: constant in the steady state.
  int64_t allocations() const;

  struct FreeLists;  // in buffer.cc

 private:
  std::shared_ptr<FreeLists> free_lists_;
};

}  // namespace ssd

#endif  // SSD_COMMON_BUFFER_H_
