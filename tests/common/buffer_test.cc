#include "common/buffer.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace ssd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Buffer Floats(std::vector<float> values) { return Buffer::Copy(values); }

TEST(BufferTest, CopyHoldsTheValuesAndNotTheOriginal) {
  std::vector<float> original = {1, 2, 3};
  const Buffer copy = Buffer::Copy(original);
  original[0] = 9;
  EXPECT_THAT(copy.values(), ElementsAre(1, 2, 3));
  EXPECT_EQ(copy.size_bytes(), 12u);
}

TEST(BufferTest, DefaultAndZeroSizedBuffersAreEmpty) {
  EXPECT_TRUE(Buffer().empty());
  EXPECT_THAT(Buffer::Copy({}).values(), IsEmpty());
  EXPECT_THAT(MutableBuffer().values(), IsEmpty());
  EXPECT_TRUE(MutableBuffer().Freeze().empty());
}

TEST(BufferTest, SliceSharesMemoryAndKeepsItAlive) {
  Buffer whole = Floats({1, 2, 3, 4});
  const float* second = &whole.values()[1];
  const Buffer slice = whole.Slice(1, 2);
  EXPECT_EQ(slice.values().data(), second);
  whole = Buffer();
  EXPECT_THAT(slice.values(), ElementsAre(2, 3));
}

TEST(BufferTest, SlicesOfSlicesCountFromTheSlice) {
  EXPECT_THAT(Floats({1, 2, 3, 4, 5}).Slice(1, 4).Slice(2, 2).values(), ElementsAre(4, 5));
  EXPECT_TRUE(Floats({1}).Slice(1, 0).empty());
}

TEST(BufferDeathTest, SliceBeyondTheEndAborts) {
  EXPECT_DEATH(Floats({1, 2}).Slice(1, 2), "check failed");
  EXPECT_DEATH(Floats({1, 2}).Slice(3, 0), "check failed");
  EXPECT_DEATH(Floats({1, 2}).Slice(1, static_cast<size_t>(-1)), "check failed") << "no overflow";
}

TEST(BufferTest, AssignmentToItselfChangesNothing) {
  BufferPool pool;
  MutableBuffer written = pool.Acquire(1);
  written.values()[0] = 7;
  Buffer buffer = std::move(written).Freeze();
  const Buffer& same = buffer;
  buffer = same;
  EXPECT_THAT(buffer.values(), ElementsAre(7));
  buffer = Buffer();
  (void)pool.Acquire(1);
  EXPECT_EQ(pool.allocations(), 1) << "no reference was left behind";
}

TEST(BufferPoolTest, LastReferenceReturnsTheMemory) {
  BufferPool pool;
  Buffer first = pool.Acquire(3).Freeze();
  const float* memory = first.values().data();
  Buffer second = first.Slice(1, 1);
  first = Buffer();
  EXPECT_NE(pool.Acquire(3).values().data(), memory) << "the slice still reads it";
  second = Buffer();
  EXPECT_EQ(pool.Acquire(3).values().data(), memory);
}

TEST(BufferPoolTest, SizesDoNotMix) {
  BufferPool pool;
  (void)pool.Acquire(4);
  EXPECT_EQ(pool.Acquire(3).size(), 3u);
  EXPECT_EQ(pool.Acquire(4).size(), 4u);
  EXPECT_EQ(pool.allocations(), 2);
}

TEST(BufferPoolTest, MemoryThatWasNeverFrozenReturnsToItsPoolToo) {
  BufferPool pool;
  { const MutableBuffer dropped = pool.Acquire(2); }
  (void)pool.Acquire(2);
  EXPECT_EQ(pool.allocations(), 1);
}

TEST(BufferPoolTest, SteadyStateAllocatesNothing) {
  BufferPool pool;
  std::vector<Buffer> held;
  for (int step = 0; step < 1000; ++step) {
    for (size_t size : {8, 16, 16}) held.push_back(pool.Acquire(size).Freeze());
    if (held.size() > 30) held.erase(held.begin(), held.begin() + 3);
  }
  EXPECT_EQ(pool.allocations(), 33);
}

TEST(BufferPoolTest, BuffersOutliveTheirPool) {
  auto pool = std::make_unique<BufferPool>();
  MutableBuffer written = pool->Acquire(2);
  written.values()[0] = 1;
  written.values()[1] = 2;
  Buffer buffer = std::move(written).Freeze();
  (void)pool->Acquire(2);  // one lies in the pool when it goes
  pool.reset();
  EXPECT_THAT(buffer.values(), ElementsAre(1, 2));
  buffer = Buffer();  // the sanitizers watch that all is freed, once
}

TEST(BufferPoolTest, ThreadsShareBuffersAndPool) {
  BufferPool pool;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&pool, &wrong, i] {
      for (int round = 0; round < 2000; ++round) {
        MutableBuffer mine = pool.Acquire(8);
        const float value = static_cast<float>(i * 10000 + round);
        for (float& each : mine.values()) each = value;
        const Buffer frozen = std::move(mine).Freeze();
        const std::vector<Buffer> shared(3, frozen.Slice(2, 4));
        for (const Buffer& each : shared) wrong += each.values()[3] != value;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(pool.allocations(), 4);
}

TEST(BufferPoolTest, MemoryIsAlignedForVectors) {
  BufferPool pool;
  for (size_t size : {1, 3, 17, 1000}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pool.Acquire(size).values().data()) % 64, 0u) << size;
  }
}

}  // namespace
}  // namespace ssd
