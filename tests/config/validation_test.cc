#include "common/config/validation.h"

#include "tests/config/loading.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::ErrorsOf;
using ::ssd::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ValidationTest, NamesAreGoodForFolders) {
  for (const char* name : {"a", "resnet-20_v1.5", "-x", "007"}) {
    EXPECT_THAT(ErrorsOf(std::string("name: \"") + name + "\""), IsEmpty()) << name;
  }
  for (const char* name : {"", ".", "..", ".git", "a/b", "a b", "\xC3\xA9"}) {
    EXPECT_THAT(ErrorsOf(std::string("name: \"") + name + "\""),
                ElementsAre(::testing::EndsWith(
                    ", want 1 to 100 letters, digits, -, _ and ., not starting with a .")))
        << name;
  }
}

TEST(ValidationTest, MilestonesRiseInOneUnit) {
  const auto errors = [](const std::string& milestones) {
    return ErrorsOf("optimizer:\n  schedule:\n    kind: step\n    milestones: " + milestones);
  };
  EXPECT_THAT(errors("[1ep, 1.5ep, 7ep]"), IsEmpty());
  EXPECT_THAT(errors("[1it, 2it]"), IsEmpty());
  EXPECT_THAT(errors("[2ep, 1ep]"),
              ElementsAre("a.yaml:4:23: optimizer.schedule.milestones[1]: milestones must rise"));
  EXPECT_THAT(errors("[5it, 5it]"),
              ElementsAre("a.yaml:4:23: optimizer.schedule.milestones[1]: milestones must rise"));
  EXPECT_THAT(errors("[1ep, 900it]"),
              ElementsAre("a.yaml:4:23: optimizer.schedule.milestones[1]: milestones are all in "
                          "ep or all in it, so that their order is known"));
  EXPECT_THAT(errors("[]"),
              ElementsAre("a.yaml:3:5: optimizer.schedule.kind: step needs optimizer.schedule.milestones, "
                          "such as [80ep, 120ep]"));
}

TEST(ValidationTest, NesterovNeedsMomentum) {
  EXPECT_THAT(ErrorsOf("optimizer: {nesterov: true, momentum: 0}"),
              ElementsAre("a.yaml:1:13: optimizer.nesterov has no effect with optimizer.momentum: 0"));
  EXPECT_THAT(ErrorsOf("optimizer: {nesterov: false, momentum: 0}"), IsEmpty());
}

TEST(ValidationTest, NoServerIsLeftWithoutABlock) {
  // ResNet-20 has 269,722 parameters, 1,078,888 bytes: 66 blocks of 16 KiB, the last one not full.
  EXPECT_THAT(ErrorsOf("cluster: {servers: 66}"), IsEmpty());
  EXPECT_THAT(
      ErrorsOf("cluster: {servers: 67}"),
      ElementsAre("a.yaml:1:11: cluster.servers: 67 servers are too many: resnet20 has 66 blocks of 16384 "
                  "bytes, and some servers would hold none"));
  EXPECT_THAT(ErrorsOf("cluster: {servers: 67}\nserver: {block_size: 8KiB}"), IsEmpty());
  EXPECT_THAT(
      ErrorsOf("server: {block_size: 2MiB}"),
      ElementsAre("a.yaml:1:10: server.block_size: 2 servers are too many: resnet20 has 1 blocks of 2097152 "
                  "bytes, and some servers would hold none"));
}

TEST(ValidationTest, ACustomModelHasItsStages) {
  EXPECT_THAT(
      ErrorsOf("model: {name: custom, layers: [3, 4, 6, 3], block: bottleneck, width: 32, stem: cifar}"),
      IsEmpty());
  EXPECT_THAT(ErrorsOf("model: {name: custom}"),
              ElementsAre("a.yaml:1:9: model.name: custom needs model.layers, such as [2, 2, 2, 2]"));
  EXPECT_THAT(ErrorsOf("model: {name: custom, layers: [1, 1, 1, 1, 1, 1, 1, 1, 1]}"),
              ElementsAre("a.yaml:1:23: model.layers: stages: got 9, want 1 to 8"));
  EXPECT_THAT(ErrorsOf("model: {name: custom, layers: [500, 501]}"),
              ElementsAre("a.yaml:1:23: model.layers: blocks: got 1001, want 1 to 1000"));
  EXPECT_THAT(ErrorsOf("model: {name: custom, layers: [2, 0, x]}"),
              ElementsAre("a.yaml:1:35: model.layers[1]: got \"0\", want a whole number from 1 to 1000",
                          "a.yaml:1:38: model.layers[2]: got \"x\", want a whole number from 1 to 1000"));
  EXPECT_THAT(
      ErrorsOf("model: {name: custom, layers: [1, 1, 1, 1, 1, 1, 1, 1], width: 4096}"),
      ElementsAre(::testing::AllOf(
          ::testing::StartsWith("a.yaml:1:23: model.layers: a model of "),
          ::testing::EndsWith(" parameters, want at most 2147483648; lower model.width or model.layers"))));
}

TEST(ValidationTest, OptionsOfACustomModelNeedOne) {
  EXPECT_THAT(ErrorsOf("model: {name: resnet50, width: 32}"),
              ElementsAre(::testing::StartsWith(
                  "a.yaml:1:25: model.width has no effect with model.name: resnet50 (a.yaml:1); it needs")));
}

TEST(ValidationTest, ASmallCustomModelMayBeTooSmallForItsServers) {
  EXPECT_THAT(
      ErrorsOf("model: {name: custom, layers: [1], width: 4}"),
      ElementsAre("a.yaml:1:23: model.layers: 2 servers are too many: custom has 1 blocks of 16384 bytes, "
                  "and some servers would hold none"));
}

TEST(ValidationTest, WeightsThatAreNotStrictNeedAFile) {
  EXPECT_THAT(ErrorsOf("model: {weights_strict: false}"),
              ElementsAre("a.yaml:1:9: model.weights_strict: false has no effect without model.weights"));
  EXPECT_THAT(ErrorsOf("model: {weights_strict: false, weights: a.safetensors}"), IsEmpty());
  EXPECT_THAT(ErrorsOf("model: {weights_strict: true}"), IsEmpty());
}

TEST(ValidationTest, ThereIsAnAddressForEachServer) {
  EXPECT_THAT(
      ErrorsOf("cluster:\n  servers: 3\n  addresses: [a:1, b:2]"),
      ElementsAre("a.yaml:3:3: cluster.addresses: got 2 addresses, want one for each of the 3 servers "
                  "(cluster.servers), or none"));
  EXPECT_THAT(ErrorsOf("cluster: {addresses: [a:1, a:1]}"),
              ElementsAre("a.yaml:1:28: cluster.addresses[1]: cluster.addresses[0] is \"a:1\" too"));
  EXPECT_THAT(
      ErrorsOf("cluster: {addresses: [a:1, b]}"),
      ElementsAre(
          "a.yaml:1:28: cluster.addresses[1]: got \"b\", want host:port, with a port from 1 to 65535, or "
          "unix:/path"));
  EXPECT_THAT(ErrorsOf("cluster: {addresses: []}"), IsEmpty());
}

TEST(ValidationTest, AddressesAreHostAndPortOrASocketsPath) {
  for (const char* address :
       {"127.0.0.1:7000", "ssd-server-0.ssd:1", "[::1]:65535", "[fe80::1%eth0]:80", "unix:/a"}) {
    EXPECT_OK(ValidateAddress(address)) << address;
  }
  for (const char* address : {"", ":", "host", "host:", ":80", "host:0", "host:65536", "host:+80", "host:80x",
                              "::1:80", "a b:80", "http://a:80", "[]:80", "[::1]", "host:000080"}) {
    EXPECT_THAT(ValidateAddress(address),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         ::testing::HasSubstr("want host:port, with a port from 1 to 65535")))
        << address;
  }
  EXPECT_THAT(ValidateAddress("unix:a"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                  "got \"unix:a\", want an absolute path: unix:/path"));
}

TEST(ValidationTest, ASocketsPathHas107BytesAtMost) {
  EXPECT_OK(ValidateAddress("unix:/" + std::string(106, 'a')));
  EXPECT_THAT(ValidateAddress("unix:/" + std::string(107, 'a')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the socket's path \"/" + std::string(59, 'a') +
                           "...\" (108 bytes) is 108 bytes long; the system allows 107"));
}

TEST(ValidationTest, WarmupAndRampMayExceedTheRun) {
  EXPECT_THAT(
      ErrorsOf("training: {duration: 1ep}\nsync: {warmup: 5ep}\noptimizer: {schedule: {lr_ramp: 9ep}}"),
      IsEmpty());
}

TEST(ValidationTest, WhatRestsOnAWrongValueIsNotBlamed) {
  EXPECT_THAT(ErrorsOf("cluster: {servers: x, addresses: [a:1, b:2, c:3]}"),
              ElementsAre("a.yaml:1:20: cluster.servers: got \"x\", want a whole number from 1 to 1024"));
}

}  // namespace
}  // namespace ssd
