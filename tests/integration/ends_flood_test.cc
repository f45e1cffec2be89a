// Strangers that want too much of a shard: its memory stays within the bound of docs/concurrency.md, and two honest
// workers finish their run beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/ends_cluster.h"
#include "tests/integration/ends_memory.h"
#include "tests/integration/ends_raw_http2.h"
#include "tests/integration/ends_raw_stream.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::Process;
using ::ssd::testing::StatusIs;
using ::testing::HasSubstr;

// docs/concurrency.md, "Strangers", for two workers and automatic blocks.
constexpr int64_t kMaxStrangers = 2 + 16;
constexpr int64_t kMaxFrame = 2 * kMiB + 32;
constexpr int64_t kParsedHello = 64 * kMiB;
constexpr int64_t kConnection = 128 << 10;

int64_t Bound(int64_t connections) {
  return 2 * (2 * kMaxStrangers * kMaxFrame) + kParsedHello + connections * kConnection;
}

// The bytes of a hello as far as a stranger knows it: everything but the experiment.
v1::Hello SomeHello() {
  v1::Hello hello;
  hello.set_protocol(1);
  hello.set_worker(1);
  hello.set_incarnation(1);
  hello.set_samples_per_epoch(256);
  return hello;
}

std::string Encoded(const v1::WorkerHeader& header) { return EncodeBeforePayload(header, 0); }

std::string EncodedHello(const v1::Hello& hello) {
  v1::WorkerHeader header;
  *header.mutable_hello() = hello;
  return Encoded(header);
}

std::string Message(const std::string& bytes) {
  return MessageDeclaring(static_cast<uint32_t>(bytes.size()), bytes);
}

class EndsFloodTest : public ::testing::Test {
 protected:
  // Silence is not what these tests are about: one worker stands still while the strangers come.
  EndsFloodTest() : cluster_({"training.duration=60it", "cluster.peer_timeout=10m"}) {}

  void TearDown() override {
    if (HasFailure()) ADD_FAILURE() << cluster_.Outputs();
  }

  const std::string& address() const { return cluster_.addresses()[0]; }

  // Starts a run, stops it in the middle, lets `strangers` come to shard 0, and sees the run to its end.
  // `connections`: how many there are at once at most.
  void RunBeside(int64_t connections, const std::function<void()>& strangers) {
    const NoQuarantine no_quarantine;
    std::vector<Process*> all = {&cluster_.StartShard(0), &cluster_.StartShard(1), &cluster_.StartWorker(0),
                                 &cluster_.StartWorker(1)};
    ASSERT_TRUE(all[3]->WaitForLine("step done step=3"));
    ASSERT_TRUE(all[3]->Stop());
    const int64_t before = PeakBytes(*all[0]);
    strangers();
    ExpectToBeHeard();  // behind all of them
    const int64_t grown = PeakBytes(*all[0]) - before;
    RecordProperty("grown_kib", static_cast<int>(grown >> 10));
    RecordProperty("before_kib", static_cast<int>(before >> 10));
    EXPECT_LE(grown, Bound(connections)) << "from " << before;

    all[3]->Continue();
    for (Process* process : all) EXPECT_EQ(process->Wait(), 0) << process->name();
    // Not a line for each, neither ours nor a library's.
    EXPECT_LE(Count(all[0]->output(), "stream refused"), 20);
    EXPECT_EQ(Count(all[0]->output(), "libprotobuf"), 0);
  }

  // Says a hello, and again where the flood threw it out, as a worker does; until the shard answers it.
  void ExpectToBeHeard() {
    absl::Status answer = absl::UnavailableError("not tried");
    const auto deadline = std::chrono::steady_clock::now() + testing::kPatience;
    while (absl::IsUnavailable(answer) || absl::IsCancelled(answer)) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << answer.ToString();
      RawStream stream(address());
      stream.SendBytes(EncodedHello(SomeHello()));
      answer = stream.ReadToTheEnd();
    }
    EXPECT_THAT(answer,
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("does not know this option")));
  }

  static int64_t Count(const std::string& text, const std::string& what) {
    int64_t count = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
    return count;
  }

  EndsCluster cluster_;
};

TEST_F(EndsFloodTest, HellosOfAllKindsConcernNobody) {
  RunBeside(200, [this] {
    const std::vector<std::string> hellos = {EncodedHello(SomeHello()), "\x7f no frame at all",
                                             std::string("\x0a\x05\x42\x03\x12\x01\xff"),
                                             EncodedHello(SomeHello()) + EncodedHello(SomeHello())};
    for (int round = 0; round < 5; ++round) {
      std::vector<RawHttp2> peers;
      for (int i = 0; i < 200; ++i) {
        peers.emplace_back(address());
        ASSERT_TRUE(peers.back().connected());
        peers.back().OpenStream(1);
        peers.back().SendData(1, Message(hellos[i % hellos.size()]));
      }
    }
  });
}

TEST_F(EndsFloodTest, StreamsThatSayNothingMakeRoomForOthers) {
  RunBeside(400, [this] {
    std::vector<RawHttp2> peers;
    for (int i = 0; i < 400; ++i) {
      peers.emplace_back(address(), /*silent=*/i % 4 == 0);
      ASSERT_TRUE(peers.back().connected());
      if (i % 4 != 0) peers.back().OpenStream(1);
    }
    ExpectToBeHeard();  // while they are there
  });
}

TEST_F(EndsFloodTest, ThousandsOfStreamsOnOneConnectionThatReadsNothing) {
  RunBeside(1, [this] {
    RawHttp2 peer(address());
    ASSERT_TRUE(peer.connected());
    v1::WorkerHeader pull;
    pull.set_generation(1);
    pull.mutable_pull()->set_version(1'000'000);
    for (uint32_t block = 0; block < 8; ++block) pull.mutable_pull()->add_blocks(block);
    const std::string message = Message(Encoded(pull));
    for (uint32_t i = 0; i < 5000 && peer.OpenStream(2 * i + 1); ++i) {
      if (i * message.size() < 60'000) peer.SendData(2 * i + 1, message);
    }
  });
}

TEST_F(EndsFloodTest, WhatIsDeclaredAndNotSentTakesNoMemory) {
  RunBeside(300, [this] {
    std::vector<RawHttp2> peers;
    const std::string half(60'000, '\x0a');
    for (int i = 0; i < 300; ++i) {
      peers.emplace_back(address());
      ASSERT_TRUE(peers.back().connected());
      peers.back().OpenStream(1);
      const uint32_t declared = i % 3 == 0 ? 0xFFFFFFFF : i % 3 == 1 ? 2 << 20 : 1 << 20;
      peers.back().SendData(1, MessageDeclaring(declared, half));
    }
  });
}

TEST_F(EndsFloodTest, LargeHellosAreParsedOneByOne) {
  RunBeside(32, [this] {
    // Two bytes each, and a message of its own in memory.
    v1::Hello hello = SomeHello();
    for (size_t i = 0; i < (kMaxHeaderBytes - 100) / 2; ++i) hello.add_parameters();
    const std::string bytes = EncodedHello(hello);
    ASSERT_LE(bytes.size(), kMaxHeaderBytes + 8);
    for (int round = 0; round < 2; ++round) {
      std::vector<std::unique_ptr<RawStream>> streams;
      for (int i = 0; i < 16; ++i) {
        streams.push_back(std::make_unique<RawStream>(address()));
        streams.back()->SendBytes(bytes);
      }
      for (const auto& stream : streams) EXPECT_FALSE(stream->ReadToTheEnd().ok());
    }
  });
}

TEST_F(EndsFloodTest, PayloadsBeforeTheHelloAreNotKept) {
  RunBeside(1, [this] {
    for (int i = 0; i < 40; ++i) {
      // Each of a size of its own.
      WorkerFrame frame;
      *frame.header.mutable_hello() = SomeHello();
      frame.payload = Buffer::Copy(std::vector<float>(kMiB / sizeof(float) - i));
      RawStream stranger(address());
      stranger.Send(frame);
      EXPECT_THAT(stranger.ReadToTheEnd(),
                  StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has no payload")));
    }
  });
}

}  // namespace
}  // namespace ssd
