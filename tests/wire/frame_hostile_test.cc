// Whatever bytes come: a frame that could have been encoded, or InvalidArgument.
#include <random>
#include <string>
#include <vector>

#include "tests/wire/frame_bytes.h"

namespace ssd {
namespace {

using testing::BytesOf;
using testing::Decode;
using testing::DecodeWithoutPayload;
using testing::Encode;
using ::testing::HasSubstr;
using testing::PushHeader;
using testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

std::string Bytes(std::initializer_list<int> bytes) {
  std::string out;
  for (int byte : bytes) out.push_back(static_cast<char>(byte));
  return out;
}

const std::string kHeaderTag = Bytes({0x0A}), kPayloadTag = Bytes({0x12});
const std::string kEmptyHeader = Bytes({0x0A, 0});

TEST(HostileFrameTest, NothingIsNoFrame) {
  EXPECT_THAT(Decode(""), StatusIs(kInvalid, HasSubstr("no header")));
}

TEST(HostileFrameTest, EveryTruncationIsRefused) {
  const std::string bytes = Encode(PushHeader(), std::vector<float>{1, 2, 3});
  const size_t without_payload = bytes.size() - 12 - 2;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const absl::Status status = Decode(bytes.substr(0, size)).status();
    if (size == without_payload) {
      EXPECT_OK(status) << "a whole frame without a payload";
    } else {
      EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr("frame: "))) << size;
    }
  }
}

TEST(HostileFrameTest, TrailingBytesAreRefused) {
  const std::string bytes = Encode(PushHeader(), std::vector<float>{1});
  EXPECT_THAT(Decode(bytes + "x"), StatusIs(kInvalid, HasSubstr("1 bytes behind the payload")));
  EXPECT_THAT(Decode(bytes + bytes), StatusIs(kInvalid, HasSubstr("behind the payload")));
}

TEST(HostileFrameTest, HugeDeclaredSizesAllocateNothing) {
  for (uint64_t size : {uint64_t{1} << 62, uint64_t{1} << 63, ~uint64_t{0}, uint64_t{kMaxHeaderBytes} + 1}) {
    EXPECT_THAT(Decode(kHeaderTag + Varint(size)), StatusIs(kInvalid, HasSubstr("at most"))) << size;
  }
  for (uint64_t size : {uint64_t{1} << 62, ~uint64_t{0}, uint64_t{kMaxPayloadBytes} + 4}) {
    EXPECT_THAT(Decode(kEmptyHeader + kPayloadTag + Varint(size)), StatusIs(kInvalid, HasSubstr("at most")))
        << size;
  }
  EXPECT_THAT(Decode(kEmptyHeader + kPayloadTag + Varint(kMaxPayloadBytes)),
              StatusIs(kInvalid, HasSubstr("0 are there")));
}

TEST(HostileFrameTest, AHeaderBeyondTheLimitIsRefusedThoughItsBytesAreThere) {
  v1::WorkerHeader header;
  header.mutable_goodbye()->set_message(std::string(kMaxHeaderBytes, 'x'));
  EXPECT_THAT(Decode(Encode(header, {})), StatusIs(kInvalid, HasSubstr("at most")));
}

TEST(HostileFrameTest, APayloadBeyondTheLimitIsRefusedThoughItsBytesAreThere) {
  const std::vector<float> large(kMaxPayloadBytes / sizeof(float) + 1);
  EXPECT_THAT(Decode(Encode(PushHeader(), large)), StatusIs(kInvalid, HasSubstr("at most")));
}

TEST(HostileFrameTest, APayloadIsRefusedWhereNoneIsAllowed) {
  EXPECT_THAT(DecodeWithoutPayload(Encode(PushHeader(), std::vector<float>{1, 2})),
              StatusIs(kInvalid, HasSubstr("10 bytes behind a header that has no payload")));
  EXPECT_THAT(DecodeWithoutPayload(""), StatusIs(kInvalid, HasSubstr("no header")));
}

TEST(HostileFrameTest, WrongTagsAreRefused) {
  std::string bytes = Encode(PushHeader(), std::vector<float>{1});
  const size_t payload_tag = bytes.size() - 6;
  for (int tag = 0; tag < 256; ++tag) {
    if (tag != 0x0A) {
      std::string wrong = bytes;
      wrong[0] = static_cast<char>(tag);
      EXPECT_THAT(Decode(wrong), StatusIs(kInvalid, HasSubstr("header's 10 stands"))) << tag;
    }
    if (tag != 0x12) {
      std::string wrong = bytes;
      wrong[payload_tag] = static_cast<char>(tag);
      EXPECT_THAT(Decode(wrong), StatusIs(kInvalid, HasSubstr("payload's 18 stands"))) << tag;
    }
  }
}

TEST(HostileFrameTest, VarintsHaveOneForm) {
  EXPECT_OK(Decode(kEmptyHeader));
  for (const std::string& zero : {Bytes({0x80, 0}), Bytes({0x80, 0x80, 0})}) {
    EXPECT_THAT(Decode(kHeaderTag + zero), StatusIs(kInvalid, HasSubstr("varint")));
  }
  const std::string no_end(11, '\x80'),
      large = Bytes({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1});
  EXPECT_THAT(Decode(kHeaderTag + no_end), StatusIs(kInvalid, HasSubstr("varint")));
  EXPECT_THAT(Decode(kHeaderTag + large), StatusIs(kInvalid, HasSubstr("varint")));
  // Bits beyond the 64th must not make a small size of it.
  const std::string wraps = Bytes({0x84, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02});
  EXPECT_THAT(Decode(kEmptyHeader + kPayloadTag + wraps + "1234"), StatusIs(kInvalid, HasSubstr("varint")));
}

TEST(HostileFrameTest, APayloadIsAWholeNumberOfFloatsAndNotNone) {
  std::string payload;
  for (; payload.size() < 8; payload.push_back('x')) {
    if (payload.size() == 4) continue;
    const std::string bytes = kEmptyHeader + kPayloadTag + Varint(payload.size()) + payload;
    EXPECT_THAT(Decode(bytes), StatusIs(kInvalid, HasSubstr("no array of floats"))) << payload;
  }
  EXPECT_OK(Decode(kEmptyHeader + kPayloadTag + Varint(payload.size()) + payload));
}

TEST(HostileFrameTest, AHeaderThatIsNoMessageIsRefused) {
  EXPECT_THAT(Decode(Bytes({0x0A, 2, 0x2A, 0x7F})), StatusIs(kInvalid, HasSubstr("no ssd.v1.WorkerHeader")));
  // Text that is no UTF-8.
  EXPECT_THAT(Decode(Bytes({0x0A, 5, 0x42, 3, 0x12, 1, 0xFF})),
              StatusIs(kInvalid, HasSubstr("WorkerHeader")));
}

TEST(HostileFrameTest, RandomBytesAreFramesOrInvalid) {
  std::mt19937 random(20201212);  // NOLINT: a fixed seed, so that a failure repeats
  int frames = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes(random() % 24, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    // Half of them begin like a frame, or nothing would get past the first byte.
    if (i % 2 == 0 && bytes.size() >= 2) {
      bytes[0] = 0x0A;
      bytes[1] = static_cast<char>(random() % bytes.size());
    }
    const absl::StatusOr<WorkerFrame> frame = Decode(bytes);
    if (!frame.ok()) {
      ASSERT_THAT(frame, StatusIs(kInvalid, HasSubstr("frame: ")));
      continue;
    }
    ++frames;
    v1::WorkerFrame parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes)) << "protobuf would have refused it";
    ASSERT_EQ(parsed.payload().size(), frame->payload.size_bytes());
  }
  EXPECT_GT(frames, 100) << "some of the random bytes must be frames";
}

TEST(HostileFrameTest, FlippedBitsOfAGoodFrameAreFramesOrInvalid) {
  const std::string bytes = Encode(PushHeader(), std::vector<float>{1, 2});
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const absl::StatusOr<WorkerFrame> frame = Decode(flipped);
    if (!frame.ok()) {
      ASSERT_THAT(frame, StatusIs(kInvalid, HasSubstr("frame: "))) << bit;
    }
  }
}

}  // namespace
}  // namespace ssd
