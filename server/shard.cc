#include "server/shard.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "common/wire/frame_queue.h"
#include "server/bounded_text.h"
#include "server/hello.h"

namespace ssd {
namespace {

constexpr int64_t kMaxBlocks = 1 << 18;  // 256 GiB in the largest automatic blocks
constexpr absl::Duration kNoticeInterval = absl::Seconds(5);
// The header of a Block and what else lies before its payload, at most.
constexpr size_t kBeforeReply = 48;
// A worker that is only silent here may wait for somebody at another shard, which accuses first.
constexpr absl::Duration kSilenceGrace = absl::Seconds(5);

}  // namespace

Shard::Shard(Options options, Executor& executor, Clock& clock, Coordinator* coordinator,
             absl::AnyInvocable<void(const v1::Hello&)> on_start,
             absl::AnyInvocable<void(const Ending&)> on_end)
    : options_(std::move(options)),
      executor_(executor),
      clock_(clock),
      coordinator_(coordinator),
      on_start_(std::move(on_start)),
      on_end_(std::move(on_end)),
      members_(options_.num_workers, nullptr),
      done_(options_.num_workers, false) {}

void Shard::Start() {
  started_ = last_notice_ = clock_.Steady();
  Watch();
}

size_t Shard::max_frame_bytes() const {
  return kMaxFrameBytes - kMaxPayloadBytes +
         static_cast<size_t>(options_.block_bytes.value_or(kMaxAutoBlockBytes));
}

Session& Shard::Open(FrameSink& sink) {
  const auto is_stranger = [](const auto& session) { return session->state() == Session::State::kStranger; };
  if (std::count_if(sessions_.begin(), sessions_.end(), is_stranger) >= max_strangers()) {
    // In the order in which they came.
    const auto oldest = std::find_if(sessions_.begin(), sessions_.end(), is_stranger);
    (*oldest)->Expel(
        absl::UnavailableError(absl::StrCat("more than ", max_strangers(), " streams without a hello")));
  }
  sessions_.push_back(std::make_unique<Session>(*this, sink));
  return *sessions_.back();
}

void Shard::Remove(Session& session) {
  for (Session*& member : members_) {
    if (member == &session) member = nullptr;
  }
  sessions_.remove_if([&session](const std::unique_ptr<Session>& other) { return other.get() == &session; });
}

absl::Status Shard::CreateParameters(const v1::Hello& hello) {
  ASSIGN_OR_RETURN(ModelLayout layout, ReadModelLayout(hello));
  if (hello.samples_per_epoch() == 0 || hello.samples_per_epoch() > (uint64_t{1} << 40)) {
    return absl::InvalidArgumentError(absl::StrCat(hello.samples_per_epoch(), " samples in an epoch"));
  }
  // A stranger's numbers must not make this process allocate what it does not have.
  const int64_t floats = std::max(layout.parameters.size(), layout.buffers.size());
  if (floats / (options_.block_bytes.value_or(kMaxAutoBlockBytes) / int64_t{sizeof(float)}) >= kMaxBlocks) {
    return absl::InvalidArgumentError(
        absl::StrCat("a model of ", floats, " floats, cut into more than ", kMaxBlocks, " blocks"));
  }
  const ShardPlan plan = options_.plan(static_cast<int64_t>(hello.samples_per_epoch()));
  Partition partition(layout, options_.num_shards, options_.block_bytes);
  parameters_ = std::make_unique<ParameterShard>(
      ParameterShard::Options{.shard = options_.shard,
                              .num_workers = options_.num_workers,
                              .deterministic = options_.deterministic,
                              .optimizer = options_.optimizer},
      std::move(layout), std::move(partition), plan.schedule, plan.learning_rate, &pool_);
  for (const Block& block : parameters_->partition().blocks()) {
    if (block.shard == options_.shard) max_reply_bytes_ += 2 * ReplyBytes(block.id);
  }
  first_hello_ = hello;
  first_hello_.DiscardUnknownFields();  // nobody asks for them, and they can be large
  return absl::OkStatus();
}

size_t Shard::ReplyBytes(BlockId block) const {
  const Partition& partition = parameters_->partition();
  if (!partition.contains(block.value())) return 0;
  return partition.block(block).size * sizeof(float) + kBeforeReply + kQueuedMessageBytes;
}

absl::Status Shard::Join(Session& session, const v1::Hello& hello) {
  if (state_ == State::kEnded) {
    session.SendGoodbye(
        {.code = kExitPeerLost, .message = absl::StrCat("the run has ended: ", end_message_)});
    return absl::AbortedError("the run has ended");
  }
  RETURN_IF_ERROR(CheckAgreement(hello, options_.shard, options_.num_workers, options_.fields));
  if (parameters_ == nullptr) {
    RETURN_IF_ERROR(CreateParameters(hello));
  } else {
    const auto differs = [&hello, this](absl::string_view what) {
      return absl::FailedPreconditionError(absl::StrCat(
          what, ": worker ", hello.worker(), " has another one than worker ", first_hello_.worker()));
    };
    const auto same = [](const auto& a, const auto& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
        return x.name() == y.name() &&
               std::equal(x.shape().begin(), x.shape().end(), y.shape().begin(), y.shape().end());
      });
    };
    if (hello.samples_per_epoch() != first_hello_.samples_per_epoch()) {
      return differs(absl::StrCat("number of training samples (", hello.samples_per_epoch(), " and ",
                                  first_hello_.samples_per_epoch(), ")"));
    }
    if (!same(hello.parameters(), first_hello_.parameters()) ||
        !same(hello.buffers(), first_hello_.buffers())) {
      return differs("model");
    }
  }

  Session*& member = members_[hello.worker()];
  if (member != nullptr || done_[hello.worker()]) {
    const bool newer = member != nullptr && session.incarnation() > member->incarnation();
    if (!newer) {
      session.SendGoodbye(
          {.code = kExitFenced,
           .message =
               absl::StrCat(member != nullptr ? "a newer incarnation of worker " : "worker ", hello.worker(),
                            member != nullptr ? " is a member of this run" : " has finished this run")});
      return absl::AbortedError("an older incarnation");
    }
    Fence(*member, session);
    return absl::AbortedError("a second incarnation");
  }
  member = &session;
  LOG(INFO) << "worker joined worker=" << hello.worker() << " shard=" << options_.shard
            << " present=" << num_present() << '/' << options_.num_workers;
  if (num_present() < options_.num_workers) return absl::OkStatus();

  state_ = State::kRunning;
  running_since_ = last_progress_ = last_notice_ = clock_.Steady();
  if (coordinator_ != nullptr) {
    coordinator_->StartGeneration();
    generation_ = coordinator_->generation();
  }
  on_start_(first_hello_);
  for (Session* each : members_) each->SendWelcome();
  return absl::OkStatus();
}

void Shard::Fence(Session& older, Session& newer) {
  const std::string who = absl::StrCat("worker ", older.worker().value());
  const std::string message = absl::StrCat(who, " was replaced by a newer incarnation ", StepName(),
                                           "; a run cannot go on after that yet");
  older.SendGoodbye(
      {.code = kExitFenced, .message = absl::StrCat("a newer incarnation of ", who, " has joined")});
  newer.SendGoodbye({.code = kExitPeerLost, .message = message});
  End({.code = kExitPeerLost, .message = message});
}

absl::StatusOr<bool> Shard::AcceptGeneration(Generation generation) {
  if (generation < generation_) return false;
  if (generation == generation_) return true;
  // As long as no membership changes there is one generation, and shards without the coordinator learn of it here.
  if (coordinator_ != nullptr || generation != Generation(1)) {
    return absl::FailedPreconditionError(
        absl::StrCat("generation ", generation.value(), " has not begun, this is ", generation_.value()));
  }
  generation_ = generation;
  return true;
}

void Shard::OnMemberLost(const Session& session, const absl::Status& status) {
  if (state_ == State::kEnded) return;
  const absl::Duration silent = clock_.Steady() - session.last_heard();
  End({.code = kExitPeerLost,
       .message = absl::StrCat("lost worker ", session.worker().value(), " ", StepName(), "; last heard ",
                               absl::FormatDuration(absl::Trunc(silent, absl::Milliseconds(1))), " before (",
                               status.ToString(), ")")});
}

void Shard::OnMemberGoodbye(const Session& session, const v1::Goodbye& goodbye) {
  const int64_t worker = session.worker().value();
  if (goodbye.code() == kExitDone) {
    if (!running() || parameters_->CompleteVersion() < parameters_->schedule().last_version()) {
      return OnMemberLost(session, absl::FailedPreconditionError("it says that it is done"));
    }
    members_[worker] = nullptr;
    done_[worker] = true;
    LOG(INFO) << "worker done worker=" << worker << " shard=" << options_.shard;
    if (std::all_of(done_.begin(), done_.end(), [](bool done) { return done; })) End({});
    return;
  }
  const std::string message = BoundedText(goodbye.message(), kMaxMessageBytes);
  // What the worker was told, it passes on: the cause keeps its name and code. What happened to the worker
  // itself is, for everybody else, the loss of a peer; only a diverged run ends the same way for all.
  const bool told = goodbye.code() == kExitDiverged || goodbye.code() == kExitPeerLost ||
                    goodbye.code() == kExitRendezvousTimeout;
  End({.code = told ? goodbye.code() : static_cast<int>(kExitPeerLost),
       .message = told ? message
                       : absl::StrCat("lost worker ", worker, " ", StepName(), "; it left with exit code ",
                                      goodbye.code(), ": ", message)});
}

void Shard::RetryHeld() {
  if (!options_.deterministic || parameters_->CompleteVersion() == retried_version_) return;
  retried_version_ = parameters_->CompleteVersion();
  for (const std::unique_ptr<Session>& session : sessions_) session->Retry();
}

void Shard::OnStrangerRefused(const absl::Status& why) {
  ++strangers_refused_;
  // A line each would let anybody fill the disk.
  const absl::Duration now = clock_.Steady();
  if (last_refusal_notice_.has_value() && now - *last_refusal_notice_ < kNoticeInterval) return;
  LOG(WARNING) << "stream refused worker=unknown count=" << strangers_refused_ << " reason=\""
               << why.ToString() << '"';
  last_refusal_notice_ = now;
  strangers_refused_ = 0;
}

void Shard::CheckStrangers() {
  const absl::Duration allowed = std::min(kHelloTimeout, options_.peer_timeout);
  for (const std::unique_ptr<Session>& session : sessions_) {
    if (session->state() != Session::State::kStranger || clock_.Steady() - session->last_heard() < allowed)
      continue;
    session->Expel(
        absl::DeadlineExceededError(absl::StrCat("no hello within ", absl::FormatDuration(allowed))));
  }
}

void Shard::Watch() {
  CheckStrangers();
  if (state_ == State::kGathering) CheckRendezvous();
  if (state_ == State::kRunning) CheckProgress();
  if (state_ == State::kEnded) return;
  const absl::Duration timeout =
      state_ == State::kGathering ? options_.rendezvous_timeout : options_.peer_timeout;
  executor_.PostAfter(std::min(absl::Seconds(1), timeout / 8), [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) Watch();
  });
}

void Shard::CheckRendezvous() {
  const absl::Duration waited = clock_.Steady() - started_;
  std::vector<int> missing;
  for (int i = 0; i < options_.num_workers; ++i) {
    if (members_[i] == nullptr) missing.push_back(i);
  }
  const std::string who = absl::StrCat("worker ", absl::StrJoin(missing, ", worker "));
  if (waited >= options_.rendezvous_timeout) {
    End({.code = kExitRendezvousTimeout,
         .message = absl::StrCat("no hello from ", who, " within rendezvous_timeout ",
                                 absl::FormatDuration(options_.rendezvous_timeout))});
  } else if (clock_.Steady() - last_notice_ >= kNoticeInterval) {
    last_notice_ = clock_.Steady();
    LOG(INFO) << "waiting for the hello of " << who
              << " since=" << absl::Trunc(waited, absl::Milliseconds(100));
  }
}

void Shard::CheckProgress() {
  const absl::Duration now = clock_.Steady();
  const std::vector<ParameterShard::Straggler> stragglers = parameters_->Stragglers();
  const Version version = parameters_->CompleteVersion();
  if (version != last_version_ || stragglers.empty()) {
    last_version_ = version;
    last_progress_ = now;
  }
  if (version == parameters_->schedule().last_version() && !complete_since_.has_value())
    complete_since_ = now;
  std::vector<std::string> who;
  absl::Duration waited, allowed = options_.peer_timeout;
  if (!stragglers.empty()) {
    waited = now - last_progress_;
    for (const ParameterShard::Straggler& each : stragglers) {
      who.push_back(absl::StrCat("worker ", each.worker.value(), " at step ", each.step.value()));
    }
  } else {
    // Nobody waits for another's gradient: all compute, or the last version is there and some have not said goodbye.
    allowed += kSilenceGrace;
    // Nothing was awaited of anybody before the run began. After the last version an evaluation and a goodbye may take as
    // long each; who talks on cannot stay for ever.
    const absl::Duration latest = complete_since_.value_or(absl::InfiniteDuration()) + allowed;
    for (const Session* member : members_) {
      if (member == nullptr) continue;
      const absl::Duration heard = std::clamp(member->last_heard(), running_since_, latest);
      if (now - heard < std::min(kNoticeInterval, options_.peer_timeout)) continue;
      waited = std::max(waited, now - heard);
      who.push_back(absl::StrCat("worker ", member->worker().value(), " ", StepName()));
    }
  }
  if (who.empty()) return;
  const std::string names = absl::StrJoin(who, ", ");
  const std::string since = absl::FormatDuration(absl::Trunc(waited, absl::Milliseconds(100)));
  if (waited >= allowed) {
    End({.code = kExitPeerLost,
         .message = absl::StrCat("lost ", names, ": nothing for ", since, ", peer_timeout is ",
                                 absl::FormatDuration(options_.peer_timeout))});
  } else if (waited >= kNoticeInterval && now - last_notice_ >= kNoticeInterval) {
    last_notice_ = now;
    LOG(INFO) << "waiting for " << names << " since=" << since;
  }
}

void Shard::End(const Ending& ending) {
  if (state_ == State::kEnded) return;
  state_ = State::kEnded;
  end_message_ = ending.code == kExitDone ? "all workers are done" : ending.message;
  for (const std::unique_ptr<Session>& session : sessions_) session->SendGoodbye(ending);
  on_end_(ending);
}

std::string Shard::StepName() const {
  return state_ == State::kGathering ? "before the first step"
                                     : absl::StrCat("at step ", parameters_->CompleteVersion().value());
}

int Shard::num_present() const {
  return static_cast<int>(std::count_if(members_.begin(), members_.end(),
                                        [](const Session* member) { return member != nullptr; }));
}

}  // namespace ssd
