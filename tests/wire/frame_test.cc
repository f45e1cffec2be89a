#include <limits>
#include <string>
#include <vector>

#include "tests/wire/frame_bytes.h"

namespace ssd {
namespace {

using testing::BytesOf;
using testing::Decode;
using testing::DecodeWithoutPayload;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::Encode;
using testing::Pieces;
using testing::PushHeader;

const std::vector<float> kPayload = {1.5f, -2.0f, 3e-40f, std::numeric_limits<float>::infinity()};

TEST(FrameTest, BytesAreAsTheCommentDrawsThem) {
  v1::WorkerHeader header;
  header.mutable_initial()->set_block(5);  // 1A 02 08 05
  EXPECT_THAT(BytesOf(Encode(header, std::vector<float>{1.0f})),
              ElementsAre(0x0A, 4, 0x1A, 2, 0x08, 5, 0x12, 4, 0, 0, 0x80, 0x3F));
  EXPECT_THAT(BytesOf(Encode(header, {})), ElementsAre(0x0A, 4, 0x1A, 2, 0x08, 5));
}

TEST(FrameTest, RoundTripKeepsHeaderAndPayload) {
  const auto frame = Decode(Encode(PushHeader(), kPayload));
  ASSERT_OK(frame);
  EXPECT_EQ(frame->header.SerializeAsString(), PushHeader().SerializeAsString());
  EXPECT_THAT(frame->payload.values(), ElementsAreArray(kPayload));
}

TEST(FrameTest, AFrameWithoutPayloadHasAnEmptyBuffer) {
  const auto frame = Decode(Encode(PushHeader(), {}));
  ASSERT_OK(frame);
  EXPECT_TRUE(frame->payload.empty());
}

TEST(FrameTest, AHeaderAloneIsReadWhereAPayloadIsNotAllowed) {
  const auto header = DecodeWithoutPayload(Encode(PushHeader(), {}));
  ASSERT_OK(header);
  EXPECT_EQ(header->SerializeAsString(), PushHeader().SerializeAsString());
}

TEST(FrameTest, AnEmptyHeaderIsAHeader) {
  const auto frame = Decode(Encode(v1::WorkerHeader(), kPayload));
  ASSERT_OK(frame);
  EXPECT_EQ(frame->header.message_case(), v1::WorkerHeader::MESSAGE_NOT_SET);
  EXPECT_EQ(frame->payload.size(), 4u);
}

TEST(FrameTest, GeneratedClassesParseWhatIsEncoded) {
  v1::WorkerFrame worker;
  ASSERT_TRUE(worker.ParseFromString(Encode(PushHeader(), kPayload)));
  EXPECT_EQ(worker.header().push().step(), 300u);
  EXPECT_EQ(worker.payload(), std::string(reinterpret_cast<const char*>(kPayload.data()), 16));
  EXPECT_EQ(worker.ByteSizeLong(), Encode(PushHeader(), kPayload).size()) << "nothing is unknown to it";

  v1::ServerHeader header;
  header.mutable_block()->set_version(8);
  v1::ServerFrame server;
  ASSERT_TRUE(server.ParseFromString(Encode(header, kPayload)));
  EXPECT_EQ(server.header().block().version(), 8u);
  EXPECT_EQ(server.payload().size(), 16u);
}

TEST(FrameTest, WhatGeneratedClassesWriteIsDecodedAndIsTheSameBytes) {
  v1::WorkerFrame worker;
  *worker.mutable_header() = PushHeader();
  worker.set_payload(std::string(reinterpret_cast<const char*>(kPayload.data()), 16));
  EXPECT_EQ(worker.SerializeAsString(), Encode(PushHeader(), kPayload));

  v1::ServerFrame server;
  server.mutable_header()->set_generation(2);
  server.mutable_header()->mutable_goodbye()->set_message("why");
  const std::string bytes = server.SerializeAsString();
  const Pieces pieces = {BytesOf(bytes)};
  BufferPool pool;
  const auto frame = DecodeFrame<v1::ServerHeader>(pieces, pool);
  ASSERT_OK(frame);
  EXPECT_EQ(frame->header.goodbye().message(), "why");
  EXPECT_TRUE(frame->payload.empty());
}

TEST(FrameTest, AnyCutIntoThreePiecesReadsTheSame) {
  const std::string bytes = Encode(PushHeader(), kPayload);
  BufferPool pool;
  for (size_t first = 0; first <= bytes.size(); ++first) {
    for (size_t second = first; second <= bytes.size(); ++second) {
      const std::string a = bytes.substr(0, first), b = bytes.substr(first, second - first),
                        c = bytes.substr(second);
      const Pieces pieces = {BytesOf(a), BytesOf(b), BytesOf(c)};
      const auto frame = DecodeFrame<v1::WorkerHeader>(pieces, pool);
      ASSERT_OK(frame) << first << ' ' << second;
      ASSERT_EQ(frame->header.push().step(), 300u);
      ASSERT_THAT(frame->payload.values(), ElementsAreArray(kPayload)) << first << ' ' << second;
    }
  }
  EXPECT_EQ(pool.allocations(), 1) << "one payload at a time";
}

TEST(FrameTest, PiecesOfOneByteReadTheSame) {
  const std::string bytes = Encode(PushHeader(), kPayload);
  Pieces pieces;
  for (size_t i = 0; i < bytes.size(); ++i) pieces.push_back(BytesOf(bytes).subspan(i, 1));
  BufferPool pool;
  const auto frame = DecodeFrame<v1::WorkerHeader>(pieces, pool);
  ASSERT_OK(frame);
  EXPECT_THAT(frame->payload.values(), ElementsAreArray(kPayload));
}

TEST(FrameTest, TheLargestPayloadPasses) {
  const std::vector<float> largest(kMaxPayloadBytes / sizeof(float), 1.0f);
  const std::string bytes = Encode(PushHeader(), largest);
  EXPECT_LE(bytes.size(), kMaxFrameBytes);
  const auto frame = Decode(bytes);
  ASSERT_OK(frame);
  EXPECT_EQ(frame->payload.size(), largest.size());
}

}  // namespace
}  // namespace ssd
