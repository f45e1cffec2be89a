// A ParameterClient whose two shards are the test.
#ifndef SSD_TESTS_WORKER_PARAMETER_CLIENT_FIXTURE_H_
#define SSD_TESTS_WORKER_PARAMETER_CLIENT_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/fake_channel.h"
#include "tests/testing/manual_executor.h"
#include "worker/parameter_client.h"

namespace ssd::testing {

// Two shards of two one-float blocks each: 0 and 2 on shard 0, 1 and 3 on shard 1.
inline Partition FourBlocks() {
  ModelLayout layout;
  layout.parameters.Add("x", {4});
  return Partition(layout, /*num_shards=*/2, /*block_bytes=*/4);
}

class ParameterClientTest : public ::testing::Test {
 protected:
  ParameterClientTest() { SetUpAnew(); }

  void SetUpAnew() {
    endings_.clear();
    joined_ = 0;
    client_ =
        std::make_unique<ParameterClient>(ParameterClient::Options{.worker = WorkerId(3),
                                                                   .incarnation = Incarnation(9),
                                                                   .shard_names = {"here:1", "there:2"},
                                                                   .rendezvous_timeout = absl::Seconds(30),
                                                                   .peer_timeout = absl::Seconds(20)},
                                          FourBlocks(), shards_, executor_, executor_,
                                          [this](const Ending& ending) { endings_.push_back(ending); });
  }

  void Join() {
    v1::Hello hello;
    hello.set_samples_per_epoch(50);
    client_->Join(hello, [this] { ++joined_; });
  }
  void BecomeMember() {
    Join();
    shards_.Welcome(1);
    shards_.Welcome(0, /*generation=*/1);
    ASSERT_EQ(joined_, 1);
  }
  void PullAll(int64_t version) {
    client_->Pull(Version(version), {BlockId(0), BlockId(1), BlockId(2), BlockId(3)});
  }
  void Await(int64_t version) {
    client_->Await(Version(version),
                   [this](Version version, std::vector<ParameterClient::PulledBlock> blocks) {
                     std::string text = absl::StrCat("v", version.value());
                     for (const auto& block : blocks) {
                       absl::StrAppend(&text, " ", block.id.value(), "=", block.values.values()[0]);
                     }
                     pulled_.push_back(text);
                   });
  }
  void AnswerAll(uint64_t version) {
    shards_.Block(1, 3, version, {3});
    shards_.Block(0, 0, version, {0});
    shards_.Block(0, 2, version, {2});
    shards_.Block(1, 1, version, {1});
  }
  // Both shards answer the goodbye.
  void CloseAll() {
    for (int shard : {0, 1}) shards_.Close(shard, absl::OkStatus());
  }
  std::pair<int, std::string> goodbye(int shard) const {
    const v1::Goodbye& goodbye = shards_.last(shard).header.goodbye();
    return {shards_.last(shard).header.has_goodbye() ? goodbye.code() : -1, goodbye.message()};
  }
  std::pair<int, std::string> ending() const {
    EXPECT_LE(endings_.size(), 1u) << "on_end is called once";
    if (endings_.empty()) return {-1, ""};
    return {endings_[0].code, endings_[0].message};
  }

  ManualExecutor executor_;
  FakeShards shards_{2};
  std::unique_ptr<ParameterClient> client_;
  int joined_ = 0;
  std::vector<std::string> pulled_;
  std::vector<Ending> endings_;
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_WORKER_PARAMETER_CLIENT_FIXTURE_H_
