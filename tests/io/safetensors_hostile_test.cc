#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/io/safetensors.h"
#include "tests/io/safetensors_bytes.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Repeat(const std::string& text, int count) {
  std::string repeated;
  for (int i = 0; i < count; ++i) repeated += text;
  return repeated;
}

struct Hostile {
  const char* what;
  std::string bytes;
  const char* message;
};

TEST(SafetensorsTest, RefusesMalformedFilesAndSaysWhatIsWrong) {
  const std::string twice =
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  const std::vector<Hostile> files = {
      {"nothing", "", "the file has 0 bytes, want at least 8"},
      {"half a length", std::string(7, '\0'), "the file has 7 bytes"},
      {"length only", std::string(8, '\0'), "does not begin with '{'"},
      {"length beyond the bound", std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10),
       "100000001 bytes, want at most 100000000"},
      {"length of 2^64 - 1", std::string(8, '\xff') + "{}", "18446744073709551615 bytes, want at most"},
      {"length beyond the file", std::string("\x03\0\0\0\0\0\0\0{}", 10), "3 bytes, but the file has only 2"},
      {"byte order mark", FileOf("\xef\xbb\xbf{}", 0), "does not begin with '{'"},
      {"space first", FileOf(" {}", 0), "does not begin with '{'"},
      {"array", FileOf("[]", 0), "does not begin with '{'"},
      {"not closed", FileOf("{", 0), "not JSON at byte"},
      {"comma at the end", FileOf(R"({"__metadata__":{},})", 0), "not JSON at byte"},
      {"comment", FileOf("{/**/}", 0), "not JSON at byte"},
      {"two documents", FileOf("{}{}", 0), "not JSON at byte"},
      {"padded with zeros", FileOf(std::string("{}\0\0", 4), 0), "a zero byte at byte 2"},
      {"not UTF-8", FileOf("{\"\xff\":{}}", 0), "not JSON at byte"},
      {"half a surrogate", FileOf(R"({"\ud800":{}})", 0), "not JSON at byte"},
      {"deep objects", FileOf(Repeat("{\"a\":", 100000), 0), "tensor \"a\": unknown key \"a\""},
      {"deep arrays", FileOfEntry("{\"shape\":" + Repeat("[", 100000), 0),
       "\"shape\" is an array, want an integer"},
      {"a tensor twice", FileOf(twice, 8), "the key \"a\" occurs twice"},
      {"metadata twice", FileOf(R"({"__metadata__":{},"__metadata__":{}})", 0),
       "\"__metadata__\" occurs twice"},
      {"metadata key twice", FileOf(R"({"__metadata__":{"k":"1","k":"2"}})", 0),
       "__metadata__: the key \"k\" occurs twice"},
      {"metadata of numbers", FileOf(R"({"__metadata__":{"k":1}})", 0),
       "__metadata__: \"k\" is 1, want a string"},
      {"metadata of objects", FileOf(R"({"__metadata__":{"k":{}}})", 0), "\"k\" is an object, want a string"},
      {"metadata is null", FileOf(R"({"__metadata__":null})", 0), "\"__metadata__\" is null, want an object"},
      {"tensor is a string", FileOfEntry("\"F32\"", 0), "\"w\" is the string \"F32\", want an object"},
      {"no dtype", FileOfEntry(R"({"shape":[1],"data_offsets":[0,4]})", 4), "tensor \"w\": no \"dtype\""},
      {"no shape", FileOfEntry(R"({"dtype":"F32","data_offsets":[0,4]})", 4), "tensor \"w\": no \"shape\""},
      {"no offsets", FileOfEntry(R"({"dtype":"F32","shape":[1]})", 4), "tensor \"w\": no \"data_offsets\""},
      {"dtype twice", FileOfEntry(R"({"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]})", 4),
       "tensor \"w\": the key \"dtype\" occurs twice"},
      {"unknown key", FileOfEntry(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":"y"})", 4),
       "tensor \"w\": unknown key \"x\""},
      {"unknown dtype", FileOfEntry(R"({"dtype":"F31","shape":[1],"data_offsets":[0,4]})", 4),
       "tensor \"w\": unknown dtype \"F31\""},
      {"dtype in small letters", FileOfEntry(R"({"dtype":"f32","shape":[1],"data_offsets":[0,4]})", 4),
       "unknown dtype"},
      {"dtype is a number", FileOfEntry(R"({"dtype":32,"shape":[1],"data_offsets":[0,4]})", 4),
       "\"dtype\" is 32, want a string"},
      {"shape is a number", FileOfEntry(R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})", 4),
       "\"shape\" is 1, want an array of integers"},
      {"negative dimension", FileOfEntry(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", 4),
       "\"shape\" is -1"},
      {"dimension is a fraction", FileOfEntry(R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})", 4),
       "\"shape\" is the number \"1.0\""},
      {"dimension beyond 64 bits",
       FileOfEntry(R"({"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,4]})", 4),
       "is the number \"18446744073709551616\""},
      {"dimension beyond 63 bits",
       FileOfEntry(R"({"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,4]})", 4),
       "dimension 9223372036854775808 is beyond"},
      {"size overflows to 4",  // (2^62 + 1) * 4 is 4 modulo 2^64
       FileOfEntry(R"({"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]})", 4),
       "is beyond 64 bits"},
      {"product overflows to 0",
       FileOfEntry(R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]})", 0),
       "is beyond 64 bits"},
      {"one offset", FileOfEntry(R"({"dtype":"F32","shape":[1],"data_offsets":[4]})", 4),
       "data_offsets has 1 numbers"},
      {"three offsets", FileOfEntry(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,8]})", 4),
       "\"data_offsets\" is 8"},
      {"negative offset", FileOfEntry(R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})", 4),
       "\"data_offsets\" is -4"},
      {"offsets reversed", FileOfEntry(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", 4),
       "data_offsets [4, 0]"},
      {"offsets beyond the file", FileOfEntry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 4),
       "data_offsets [0, 8], want a range within the 4 bytes"},
      {"offsets of 2^64 - 1",
       FileOfEntry(R"({"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]})", 4),
       "want a range within the 4 bytes"},
      {"fewer bytes than the shape", FileOfEntry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", 8),
       "data_offsets span 8 bytes, but F32 of shape [3] has 12"},
      {"more bytes than the shape", FileOfEntry(R"({"dtype":"F16","shape":[3],"data_offsets":[0,8]})", 8),
       "data_offsets span 8 bytes, but F16 of shape [3] has 6"},
      {"hole at the start", FileOfEntry(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})", 8),
       "leaves a hole"},
      {"bytes after the last tensor", FileOfEntry(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})", 5),
       "the file has 5 bytes of values, its tensors 4"},
      {"values without tensors", FileOf("{}", 1), "the file has 1 bytes of values, its tensors 0"},
      {"hole in the middle",
       FileOf(
           R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
           3),
       "tensor \"b\": leaves a hole before it: data_offsets begin at 2, want 1"},
      {"overlap",
       FileOf(
           R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
           3),
       "tensor \"b\": overlaps the tensor before it: data_offsets begin at 1, want 2"},
      {"the same bytes twice",
       FileOf(
           R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
           2),
       "tensor \"b\": overlaps"},
      {"a terminal's escape in a name", FileOf("{\"\\u001b[2J\":1}", 0), "\"\\x1b[2J\" is 1"},
  };
  for (const Hostile& file : files) {
    SCOPED_TRACE(file.what);
    EXPECT_THAT(ParseSafetensors(file.bytes, "bad.safetensors"),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("bad.safetensors: "), HasSubstr(file.message))));
  }
}

}  // namespace
}  // namespace ssd
