// Channels whose other end is the test: what a worker sends lies here, and the test answers.
#ifndef SSD_TESTS_TESTING_FAKE_CHANNEL_H_
#define SSD_TESTS_TESTING_FAKE_CHANNEL_H_

#include <memory>
#include <utility>
#include <vector>

#include "common/logging.h"
#include "worker/shard_channel.h"

namespace ssd::testing {

// The shards as one worker's channels see them.
class FakeShards : public ShardChannelFactory {
 public:
  explicit FakeShards(int num_shards) : shards_(num_shards) {}

  std::unique_ptr<ShardChannel> Open(ShardId shard, ShardChannel::Listener& listener) override {
    Shard& state = shards_[shard.value()];
    ++state.opened;
    state.listener = &listener;
    state.half_closed = false;
    return std::make_unique<Channel>(state);
  }

  // All that the worker has sent to the shard so far.
  const std::vector<WorkerFrame>& sent(int shard) const { return shards_[shard].sent; }
  const WorkerFrame& last(int shard) const { return shards_[shard].sent.back(); }
  bool half_closed(int shard) const { return shards_[shard].half_closed; }
  int opened(int shard) const { return shards_[shard].opened; }

  void Answer(int shard, ServerFrame frame) {
    CHECK(shards_[shard].listener != nullptr) << "no stream with shard " << shard;
    shards_[shard].listener->OnFrame(ShardId(shard), std::move(frame));
  }
  void Close(int shard, const absl::Status& status) {
    CHECK(shards_[shard].listener != nullptr) << "no stream with shard " << shard;
    std::exchange(shards_[shard].listener, nullptr)->OnClosed(ShardId(shard), status);
  }

  void Welcome(int shard, uint64_t generation = 0) {
    ServerFrame frame;
    frame.header.set_generation(generation);
    frame.header.mutable_welcome();
    Answer(shard, std::move(frame));
  }
  void Block(int shard, uint32_t block, uint64_t version, std::vector<float> values,
             uint64_t generation = 1) {
    ServerFrame frame;
    frame.header.set_generation(generation);
    frame.header.mutable_block()->set_block(block);
    frame.header.mutable_block()->set_version(version);
    frame.payload = Buffer::Copy(values);
    Answer(shard, std::move(frame));
  }
  void Goodbye(int shard, int code, const std::string& message) {
    ServerFrame frame;
    frame.header.mutable_goodbye()->set_code(code);
    frame.header.mutable_goodbye()->set_message(message);
    Answer(shard, std::move(frame));
  }

 private:
  struct Shard {
    std::vector<WorkerFrame> sent;
    ShardChannel::Listener* listener = nullptr;
    bool half_closed = false;
    int opened = 0;
  };
  class Channel : public ShardChannel {
   public:
    explicit Channel(Shard& shard) : shard_(shard), number_(shard.opened) {}
    ~Channel() override {
      if (number_ == shard_.opened) shard_.listener = nullptr;  // unless another one has taken its place
    }
    void Send(WorkerFrame frame) override {
      CHECK(!shard_.half_closed) << "a frame after the half-close";
      shard_.sent.push_back(std::move(frame));
    }
    void HalfClose() override { shard_.half_closed = true; }

   private:
    Shard& shard_;
    const int number_;
  };

  std::vector<Shard> shards_;
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_TESTING_FAKE_CHANNEL_H_
