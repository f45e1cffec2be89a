#include "worker/parameter_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/logging.h"

namespace ssd {
namespace {

constexpr absl::Duration kNoticeInterval = absl::Seconds(5);
constexpr absl::Duration kRetryInterval = absl::Milliseconds(200);
// How long the shards' answers to a goodbye are waited for.
constexpr absl::Duration kFarewell = absl::Seconds(3);
// A shard knows whom it waits for, and accuses first; a worker only when the shard itself is silent.
constexpr absl::Duration kAfterTheShards = absl::Seconds(2);

// Whether what a shard was told, or tells, is the receiver's own end too: it did not agree, was replaced, or
// the run ended for all. Any other code is what happened to the shard.
bool IsForAll(int code) {
  return code == kExitUsage || code == kExitDiverged || code == kExitPeerLost ||
         code == kExitRendezvousTimeout || code == kExitFenced;
}

// Whether `code` tells the cause where an ending with `known` told a consequence.
bool Outranks(int code, int known) {
  return known == kExitPeerLost && (code == kExitDiverged || code == kExitFenced);
}

}  // namespace

ParameterClient::ParameterClient(Options options, Partition partition, ShardChannelFactory& channels,
                                 Executor& executor, Clock& clock,
                                 absl::AnyInvocable<void(const Ending&)> on_end)
    : options_(std::move(options)),
      partition_(std::move(partition)),
      channels_(channels),
      executor_(executor),
      clock_(clock),
      on_end_(std::move(on_end)),
      shards_(partition_.num_shards()) {}

ParameterClient::~ParameterClient() = default;

void ParameterClient::Join(v1::Hello hello, absl::AnyInvocable<void()> joined) {
  hello_ = std::move(hello);
  hello_.set_protocol(kProtocol);
  hello_.set_worker(static_cast<uint32_t>(options_.worker.value()));
  hello_.set_incarnation(static_cast<uint64_t>(options_.incarnation.value()));
  joined_ = std::move(joined);
  if (ending_.has_value()) return;
  started_ = last_notice_ = clock_.Steady();
  for (int i = 0; i < partition_.num_shards(); ++i) Open(ShardId(i));
  Watch();
}

void ParameterClient::Open(ShardId shard) {
  Shard& state = shards_[shard.value()];
  state.channel = channels_.Open(shard, *this);
  state.closed = false;
  hello_.set_shard(static_cast<uint32_t>(shard.value()));
  WorkerFrame frame;
  *frame.header.mutable_hello() = hello_;
  VLOG(1) << "hello to " << NameOf(shard);
  state.channel->Send(std::move(frame));
}

WorkerFrame ParameterClient::NewFrame() const {
  WorkerFrame frame;
  frame.header.set_generation(static_cast<uint64_t>(generation_.value()));
  return frame;
}

void ParameterClient::SendTo(ShardId shard, WorkerFrame frame) {
  if (!ending_.has_value()) shards_[shard.value()].channel->Send(std::move(frame));
}

void ParameterClient::SendInitial(BlockId block, Buffer values) {
  WorkerFrame frame = NewFrame();
  frame.header.mutable_initial()->set_block(static_cast<uint32_t>(block.value()));
  frame.payload = std::move(values);
  SendTo(partition_.block(block).shard, std::move(frame));
}

void ParameterClient::Push(BlockId block, Step step, Buffer values) {
  newest_step_ = std::max(newest_step_, step);
  WorkerFrame frame = NewFrame();
  frame.header.mutable_push()->set_block(static_cast<uint32_t>(block.value()));
  frame.header.mutable_push()->set_step(static_cast<uint64_t>(step.value()));
  traffic_.bytes_pushed += values.size() * sizeof(float);
  frame.payload = std::move(values);
  SendTo(partition_.block(block).shard, std::move(frame));
}

void ParameterClient::Pull(Version version, const std::vector<BlockId>& blocks) {
  PendingPull& pull = pulls_[version];
  CHECK(pull.missing.empty() && pull.arrived.empty()) << "version " << version << " is being pulled";
  pull.since = clock_.Steady();
  std::vector<WorkerFrame> frames(shards_.size(), NewFrame());
  for (const BlockId block : blocks) {
    pull.missing.insert(block);
    v1::Pull* request = frames[partition_.block(block).shard.value()].header.mutable_pull();
    request->set_version(static_cast<uint64_t>(version.value()));
    request->set_exact(true);
    request->add_blocks(static_cast<uint32_t>(block.value()));
  }
  for (size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].header.has_pull()) SendTo(ShardId(static_cast<int64_t>(i)), std::move(frames[i]));
  }
  VLOG(1) << "pull sent version=" << version << " blocks=" << blocks.size();
}

void ParameterClient::Await(Version version, Pulled pulled) {
  CHECK(!awaited_.has_value() && pulls_.contains(version)) << version;
  awaited_ = version;
  pulled_ = std::move(pulled);
  pulls_[version].since = last_notice_ = clock_.Steady();
  if (!pulls_[version].missing.empty()) {
    VLOG(1) << "awaiting version=" << version << " missing=" << pulls_[version].missing.size();
    return;
  }
  executor_.Post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) Deliver();
  });
}

void ParameterClient::Deliver() {
  if (ending_.has_value() || !awaited_.has_value()) return;
  const Version version = *std::exchange(awaited_, std::nullopt);
  std::vector<PulledBlock> blocks = std::move(pulls_[version].arrived);
  pulls_.erase(version);
  std::exchange(pulled_, nullptr)(version, std::move(blocks));
}

void ParameterClient::Send(const v1::Report& report) {
  WorkerFrame frame = NewFrame();
  *frame.header.mutable_report() = report;
  SendTo(ShardId(0), std::move(frame));
}

void ParameterClient::Send(const v1::Evaluated& evaluated) {
  WorkerFrame frame = NewFrame();
  *frame.header.mutable_evaluated() = evaluated;
  SendTo(ShardId(0), std::move(frame));
}

void ParameterClient::OnFrame(ShardId shard, ServerFrame frame) {
  if (ending_.has_value()) {
    // Two shards' goodbyes may come in the wrong order: who lost this worker, and why it was lost.
    if (frame.header.has_goodbye() && Outranks(frame.header.goodbye().code(), ending_->code)) {
      ending_ = EndingOf(shard, frame.header.goodbye());
    }
    return;
  }
  const Generation generation(static_cast<int64_t>(frame.header.generation()));
  switch (frame.header.message_case()) {
    case v1::ServerHeader::kWelcome:
      return OnWelcome(shard, generation);
    case v1::ServerHeader::kBlock:
      if (generation < generation_) return;
      return OnBlock(shard, frame.header.block(), std::move(frame.payload));
    case v1::ServerHeader::kGoodbye:
      return OnGoodbye(shard, frame.header.goodbye());
    default:
      return End(
          {.code = kExitInternal, .message = absl::StrCat(NameOf(shard), " sent a frame of no known kind")});
  }
}

void ParameterClient::OnWelcome(ShardId shard, Generation generation) {
  if (shard == ShardId(0)) generation_ = generation;
  shards_[shard.value()].welcomed = true;
  if (!std::all_of(shards_.begin(), shards_.end(), [](const Shard& each) { return each.welcomed; })) return;
  LOG(INFO) << "joined worker=" << options_.worker << " shards=" << shards_.size()
            << " generation=" << generation_;
  if (joined_ != nullptr) std::exchange(joined_, nullptr)();
}

void ParameterClient::OnBlock(ShardId shard, const v1::Block& block, Buffer payload) {
  const auto pull = pulls_.find(Version(static_cast<int64_t>(block.version())));
  const bool asked = pull != pulls_.end() && pull->second.missing.contains(BlockId(block.block())) &&
                     partition_.block(BlockId(block.block())).shard == shard;
  if (!asked || static_cast<int64_t>(payload.size()) != partition_.block(BlockId(block.block())).size) {
    return End({.code = kExitInternal,
                .message = absl::StrCat(NameOf(shard), " sent block ", block.block(), " at version ",
                                        block.version(), " with ", payload.size(),
                                        " floats, which was not asked for")});
  }
  traffic_.bytes_pulled += payload.size() * sizeof(float);
  pull->second.missing.erase(BlockId(block.block()));
  if (on_arrival_ != nullptr)
    payload = on_arrival_(partition_.block(BlockId(block.block())), std::move(payload));
  pull->second.arrived.push_back({BlockId(block.block()), std::move(payload)});
  if (awaited_ == pull->first && pull->second.missing.empty()) Deliver();
}

void ParameterClient::OnGoodbye(ShardId shard, const v1::Goodbye& goodbye) { End(EndingOf(shard, goodbye)); }

Ending ParameterClient::EndingOf(ShardId shard, const v1::Goodbye& goodbye) const {
  if (IsForAll(goodbye.code())) {
    return {.code = goodbye.code(), .message = absl::StrCat(NameOf(shard), " says: ", goodbye.message())};
  }
  // A shard that is done while this worker is not has lost it.
  return {
      .code = kExitPeerLost,
      .message = absl::StrCat("lost ", NameOf(shard), " ", Where(), ", at ", absl::FormatTime(clock_.Wall()),
                              "; it left with exit code ", goodbye.code(), ": ", goodbye.message())};
}

void ParameterClient::OnClosed(ShardId shard, const absl::Status& status) {
  Shard& state = shards_[shard.value()];
  state.closed = true;
  if (ending_.has_value()) return FinishIfClosed();
  const bool gone = status.ok() || absl::IsUnavailable(status) || absl::IsCancelled(status) ||
                    absl::IsDeadlineExceeded(status) || absl::IsUnknown(status);
  if (absl::IsUnimplemented(status)) {
    return End({.code = kExitUsage,
                .message = absl::StrCat(
                    NameOf(shard), " answers, but is no ssd-server of this version: ", status.message())});
  }
  if (!gone) {
    return End({.code = kExitInternal,
                .message = absl::StrCat(NameOf(shard), " closed the session: ", status.ToString())});
  }
  if (!state.welcomed) {
    // It is not up yet, or it was started again: until the rendezvous is over that is no loss.
    VLOG(1) << "no session with " << NameOf(shard) << " yet: " << status.ToString();
    executor_.PostAfter(kRetryInterval, [this, shard, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired() && !ending_.has_value()) Open(shard);
    });
    return;
  }
  End({.code = kExitPeerLost,
       .message = absl::StrCat("lost ", NameOf(shard), " ", Where(), ", at ", absl::FormatTime(clock_.Wall()),
                               " (", status.ToString(), ")")});
}

void ParameterClient::Watch() {
  if (ending_.has_value()) return;
  const absl::Duration now = clock_.Steady();
  std::vector<std::string> silent;
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (!shards_[i].welcomed) silent.push_back(NameOf(ShardId(static_cast<int64_t>(i))));
  }
  if (!silent.empty()) {
    if (now - started_ >= options_.rendezvous_timeout + kAfterTheShards) {
      return End({.code = kExitRendezvousTimeout,
                  .message = absl::StrCat("no welcome from ", absl::StrJoin(silent, ", "),
                                          " within rendezvous_timeout ",
                                          absl::FormatDuration(options_.rendezvous_timeout))});
    }
    if (now - last_notice_ >= kNoticeInterval) {
      last_notice_ = now;
      LOG(INFO) << "waiting for the welcome of " << absl::StrJoin(silent, ", ")
                << " since=" << absl::Trunc(now - started_, absl::Milliseconds(100));
    }
  } else if (awaited_.has_value()) {
    const PendingPull& pull = pulls_[*awaited_];
    std::set<std::string> names;
    for (const BlockId block : pull.missing) names.insert(NameOf(partition_.block(block).shard));
    const std::string who = absl::StrJoin(names, ", ");
    if (now - pull.since >= options_.peer_timeout + kAfterTheShards) {
      return End({.code = kExitPeerLost,
                  .message = absl::StrCat("lost ", who, " ", Where(), ": version ", awaited_->value(),
                                          " did not come within peer_timeout ",
                                          absl::FormatDuration(options_.peer_timeout))});
    }
    if (now - last_notice_ >= kNoticeInterval) {
      last_notice_ = now;
      LOG(INFO) << "waiting for version " << *awaited_ << " from " << who
                << " since=" << absl::Trunc(now - pull.since, absl::Milliseconds(100));
    }
  }
  const absl::Duration timeout = silent.empty() ? options_.peer_timeout : options_.rendezvous_timeout;
  executor_.PostAfter(std::min(absl::Seconds(1), timeout / 8), [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) Watch();
  });
}

void ParameterClient::End(Ending ending) {
  if (ending_.has_value()) return;
  for (Shard& shard : shards_) {
    if (shard.channel == nullptr || shard.closed) {
      shard.closed = true;
      continue;
    }
    WorkerFrame frame = NewFrame();
    frame.header.mutable_goodbye()->set_code(ending.code);
    frame.header.mutable_goodbye()->set_message(ending.message);
    shard.channel->Send(std::move(frame));
    shard.channel->HalfClose();
  }
  ending_ = std::move(ending);
  executor_.PostAfter(kFarewell, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    for (Shard& shard : shards_) shard.closed = true;
    FinishIfClosed();
  });
  FinishIfClosed();
}

void ParameterClient::FinishIfClosed() {
  if (ended_ || !std::all_of(shards_.begin(), shards_.end(), [](const Shard& shard) { return shard.closed; }))
    return;
  ended_ = true;
  on_end_(*ending_);
}

std::string ParameterClient::NameOf(ShardId shard) const {
  return absl::StrCat("shard ", shard.value(), " (", options_.shard_names[shard.value()], ")");
}

std::string ParameterClient::Where() const {
  return joined_ != nullptr ? "before the first step" : absl::StrCat("at step ", newest_step_.value());
}

}  // namespace ssd
