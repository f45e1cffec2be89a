#include "common/wire/frame_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ssd {
namespace {

// A message as a transport has it.
struct Message {
  std::string bytes{};
  size_t Length() const { return bytes.size(); }
  void Swap(Message* other) { bytes.swap(other->bytes); }
};

TEST(FrameQueueTest, TheFirstMessageIsWrittenAtOnceAndTheOthersAfterIt) {
  FrameQueue<Message> queue;
  EXPECT_EQ(queue.Push({"one"})->bytes, "one");
  EXPECT_EQ(queue.Push({"two"}), nullptr);
  EXPECT_EQ(queue.WriteDone()->bytes, "two");
  EXPECT_EQ(queue.WriteDone(), nullptr);
  EXPECT_TRUE(queue.empty());
}

// Or who asks for blocks of four bytes and reads nothing would have a thousand times what is counted.
TEST(FrameQueueTest, EveryMessageCostsMoreThanItsBytes) {
  FrameQueue<Message> queue;
  queue.Push({"1234"});
  queue.Push({""});
  EXPECT_EQ(queue.queued_bytes(), 4 + 2 * kQueuedMessageBytes);
  queue.WriteDone();
  EXPECT_EQ(queue.queued_bytes(), kQueuedMessageBytes);
}

TEST(FrameQueueTest, AnAbandonedQueueKeepsTheWriteInFlightAlone) {
  FrameQueue<Message> queue;
  const Message* const written = queue.Push({"written"});
  queue.Push({"dropped"});
  queue.Abandon();
  EXPECT_EQ(written->bytes, "written");
  EXPECT_EQ(queue.queued_bytes(), 7 + kQueuedMessageBytes);
  EXPECT_EQ(queue.Push({"late"}), nullptr);
  EXPECT_EQ(queue.WriteDone(), nullptr);
  EXPECT_EQ(queue.queued_bytes(), 0u);
}

}  // namespace
}  // namespace ssd
