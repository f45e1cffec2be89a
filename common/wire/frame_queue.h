// The frames that wait to be written to one stream. gRPC allows one write in flight a stream, and a reply can
// arrive before the OnWriteDone of its request, so everything goes through one queue.
//
// Thread-safe.
#ifndef SSD_COMMON_WIRE_FRAME_QUEUE_H_
#define SSD_COMMON_WIRE_FRAME_QUEUE_H_

#include <cstddef>
#include <deque>
#include <utility>

#include "common/mutex.h"

namespace ssd {

// What a queued message costs beside its bytes. Without it a peer could have any number of tiny ones queued.
inline constexpr size_t kQueuedMessageBytes = 512;

// `Message`: what the transport writes; with Length() in bytes and Swap().
template <typename Message>
class FrameQueue {
 public:
  // Queues `message`. Returns what is to be written now, or null while a write is in flight: the caller
  // starts it, outside of any lock. It stays valid until WriteDone.
  const Message* Push(Message message) {
    MutexLock lock(&mutex_);
    if (closed_) return nullptr;
    queued_bytes_ += Cost(message);
    messages_.push_back(std::move(message));
    return messages_.size() == 1 ? &messages_.front() : nullptr;
  }

  // The write in flight is done: returns the next one to start, or null.
  const Message* WriteDone() {
    Message done;  // destroyed after the lock is released: that may return a payload to its pool
    MutexLock lock(&mutex_);
    queued_bytes_ -= Cost(messages_.front());
    done.Swap(&messages_.front());
    messages_.pop_front();
    return messages_.empty() ? nullptr : &messages_.front();
  }

  // Nothing is written any more, and what waits behind the write in flight is dropped.
  void Abandon() {
    std::deque<Message> dropped;  // destroyed after the lock is released, too
    MutexLock lock(&mutex_);
    closed_ = true;
    while (messages_.size() > 1) {
      queued_bytes_ -= Cost(messages_.back());
      dropped.push_back(std::move(messages_.back()));
      messages_.pop_back();
    }
  }

  bool empty() const {
    MutexLock lock(&mutex_);
    return messages_.empty();
  }
  // With kQueuedMessageBytes for each message.
  size_t queued_bytes() const {
    MutexLock lock(&mutex_);
    return queued_bytes_;
  }

 private:
  static size_t Cost(const Message& message) { return message.Length() + kQueuedMessageBytes; }

  mutable Mutex mutex_;
  std::deque<Message> messages_ ABSL_GUARDED_BY(mutex_);  // the front is being written
  size_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ssd

#endif  // SSD_COMMON_WIRE_FRAME_QUEUE_H_
