#include "server/session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "server/shard.h"

namespace ssd {
namespace {

// In one report: sums of as many as a run can have workers and steps stay within 64 bits.
constexpr uint64_t kMaxSamples = uint64_t{1} << 32;
constexpr uint64_t kMaxBytes = uint64_t{1} << 50;

}  // namespace

Session::Session(Shard& shard, FrameSink& sink) : shard_(shard), sink_(sink), last_heard_(shard.Now()) {}

void Session::OnFrame(WorkerFrame frame, absl::AnyInvocable<void()> consumed) {
  last_heard_ = shard_.Now();
  // A goodbye overtakes pushes that are held: what they are part of ends.
  if (frame.header.has_goodbye() && state_ == State::kMember) inbox_.clear();
  inbox_.push_back({std::move(frame), std::move(consumed)});
  HandleAll();
}

void Session::Retry() { HandleAll(); }

void Session::HandleAll() {
  if (handling_) return;  // a push that completes a step makes the shard ask all sessions, this one too
  handling_ = true;
  while (!inbox_.empty() && state_ != State::kClosed && !MustWait(inbox_.front().frame)) {
    Held held = std::move(inbox_.front());
    inbox_.pop_front();
    const absl::Status status = Handle(held.frame);
    held.frame.payload = Buffer();
    if (!status.ok()) Fail(status);
    held.consumed();
  }
  handling_ = false;
}

bool Session::MustWait(const WorkerFrame& frame) const {
  return state_ == State::kMember && frame.header.has_push() && shard_.running() &&
         !shard_.mutable_parameters().MayPush(Step(static_cast<int64_t>(frame.header.push().step())));
}

absl::Status Session::Handle(WorkerFrame& frame) {
  const v1::WorkerHeader& header = frame.header;
  if (state_ == State::kStranger) {
    if (!header.has_hello()) return absl::InvalidArgumentError("the first frame must be a hello");
    return HandleHello(header.hello());
  }
  if (state_ != State::kMember) return absl::InvalidArgumentError("a frame after the goodbye");
  if (header.has_goodbye()) return HandleGoodbye(header.goodbye());
  if (header.has_hello()) return absl::InvalidArgumentError("a second hello");
  if (!shard_.running()) return absl::FailedPreconditionError("a frame before the welcome");
  // Payloads lie in arrays that their pool keeps by size, so that none may come but those of blocks.
  const size_t floats = frame.payload.size();
  const bool has_payload = header.has_initial() || (header.has_push() && !header.push().skipped());
  if (floats > 0 && !has_payload) {
    return absl::InvalidArgumentError(
        absl::StrCat("a payload of ", floats, " floats in a frame that has none"));
  }
  ASSIGN_OR_RETURN(const bool current,
                   shard_.AcceptGeneration(Generation(static_cast<int64_t>(header.generation()))));
  if (!current) return floats == 0 ? absl::OkStatus() : shard_.parameters()->CheckSize(floats);

  switch (header.message_case()) {
    case v1::WorkerHeader::kInitial:
      if (worker_ != WorkerId(0)) return absl::InvalidArgumentError("initial weights come from worker 0");
      return EndIfDiverged(shard_.mutable_parameters().SetInitial(BlockId(header.initial().block()),
                                                                  std::move(frame.payload)));
    case v1::WorkerHeader::kPush:
      return HandlePush(frame);
    case v1::WorkerHeader::kPull:
      return HandlePull(header.pull());
    case v1::WorkerHeader::kReport:
    case v1::WorkerHeader::kEvaluated:
      return HandleReport(header);
    default:
      return absl::InvalidArgumentError("a frame of no known kind");
  }
}

absl::Status Session::HandleHello(const v1::Hello& hello) {
  worker_ = WorkerId(hello.worker());
  incarnation_ = Incarnation(static_cast<int64_t>(hello.incarnation()));
  state_ = State::kMember;
  absl::Status status = shard_.Join(*this, hello);
  if (status.ok()) return status;
  if (state_ == State::kMember) state_ = State::kStranger;  // it never was one
  if (status.code() == absl::StatusCode::kFailedPrecondition) {
    ServerFrame frame = NewFrame();
    frame.header.mutable_goodbye()->set_code(kExitUsage);
    frame.header.mutable_goodbye()->set_message(std::string(status.message()));
    sink_.Send(std::move(frame));
  }
  return status;
}

absl::Status Session::HandleGoodbye(const v1::Goodbye& goodbye) {
  state_ = State::kLeft;
  shard_.OnMemberGoodbye(*this, goodbye);
  sink_.Close(absl::OkStatus());
  return absl::OkStatus();
}

absl::Status Session::HandlePush(WorkerFrame& frame) {
  const v1::Push& push = frame.header.push();
  std::optional<Buffer> gradient;
  if (!push.skipped()) gradient = std::move(frame.payload);
  VLOG(2) << "push worker=" << worker_ << " block=" << push.block() << " step=" << push.step();
  RETURN_IF_ERROR(EndIfDiverged(shard_.mutable_parameters().Push(
      worker_, BlockId(push.block()), Step(static_cast<int64_t>(push.step())), std::move(gradient))));
  shard_.RetryHeld();
  return absl::OkStatus();
}

absl::Status Session::HandleReport(const v1::WorkerHeader& header) {
  Coordinator* coordinator = shard_.coordinator();
  if (coordinator == nullptr) return absl::InvalidArgumentError("reports go to shard 0");
  const SyncSchedule& schedule = shard_.parameters()->schedule();
  const uint64_t last = static_cast<uint64_t>(schedule.last_version().value());
  absl::Status status;
  if (header.has_report()) {
    const v1::Report& report = header.report();
    if (report.step() < 1 || report.step() > last || report.steps() > report.step() ||
        report.samples() > kMaxSamples || report.correct() > report.samples() ||
        report.bytes_pushed() > kMaxBytes || report.bytes_pulled() > kMaxBytes) {
      return absl::InvalidArgumentError(absl::StrCat("a report of ", report.steps(), " steps up to ",
                                                     report.step(), " of ", last, ", with ", report.correct(),
                                                     " of ", report.samples(), " samples correct"));
    }
    status = coordinator->Add(worker_, report, shard_.mutable_parameters().TakeLead());
  } else {
    const v1::Evaluated& evaluated = header.evaluated();
    if (evaluated.version() > last ||
        !schedule.IsEvaluated(Version(static_cast<int64_t>(evaluated.version()))) ||
        evaluated.samples() > kMaxSamples || evaluated.correct() > evaluated.samples()) {
      return absl::InvalidArgumentError(absl::StrCat("an evaluation of version ", evaluated.version(),
                                                     " with ", evaluated.correct(), " of ",
                                                     evaluated.samples(), " samples correct"));
    }
    status = coordinator->Add(worker_, evaluated);
  }
  if (status.ok() || status.code() == absl::StatusCode::kInvalidArgument) return status;
  shard_.OnStorageFailed(status);
  return absl::OkStatus();
}

absl::Status Session::EndIfDiverged(absl::Status status) {
  if (status.code() != absl::StatusCode::kDataLoss) return status;
  shard_.OnDiverged(status);
  return absl::OkStatus();
}

absl::Status Session::HandlePull(const v1::Pull& pull) {
  size_t asked = 0;
  for (const uint32_t id : pull.blocks()) asked += shard_.ReplyBytes(BlockId(id));
  const size_t unsent = sink_.queued_bytes();
  if (parked_bytes_ + unsent + asked > shard_.max_reply_bytes()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "worker ", worker_.value(), " asks for more than it reads: ", asked, " bytes beside ", parked_bytes_,
        " parked and ", unsent, " unsent, at most ", shard_.max_reply_bytes(), " are allowed"));
  }
  for (const uint32_t id : pull.blocks()) {
    const size_t reply_bytes = shard_.ReplyBytes(BlockId(id));
    parked_bytes_ += reply_bytes;
    RETURN_IF_ERROR(shard_.mutable_parameters().Pull(
        BlockId(id), Version(static_cast<int64_t>(pull.version())), pull.exact(),
        [this, id, reply_bytes,
         alive = std::weak_ptr<bool>(alive_)](const ParameterShard::Snapshot& snapshot) {
          if (alive.expired()) return;
          parked_bytes_ -= reply_bytes;
          ServerFrame frame = NewFrame();
          frame.header.mutable_block()->set_block(id);
          frame.header.mutable_block()->set_version(static_cast<uint64_t>(snapshot.version.value()));
          frame.payload = snapshot.values;
          sink_.Send(std::move(frame));
        }));
  }
  return absl::OkStatus();
}

void Session::OnStreamEnd(const absl::Status& status) {
  const bool was_member = state_ == State::kMember;
  state_ = State::kClosed;
  if (was_member) shard_.OnMemberLost(*this, status);
  shard_.Remove(*this);  // deletes this
}

void Session::Fail(const absl::Status& status) {
  const bool was_member = state_ == State::kMember;
  if (was_member) {
    LOG(WARNING) << "session closed worker=" << worker_ << " reason=\"" << status.ToString() << '"';
  } else {
    shard_.OnStrangerRefused(status);
  }
  state_ = State::kClosed;
  sink_.Close(status);
  if (was_member) shard_.OnMemberLost(*this, status);
}

void Session::Expel(const absl::Status& why) {
  CHECK(state_ == State::kStranger);
  state_ = State::kClosed;
  inbox_.clear();
  shard_.OnStrangerRefused(why);
  sink_.Cancel(why);
}

void Session::SendGoodbye(const Ending& ending) {
  if (state_ == State::kClosed || state_ == State::kLeft) return;
  ServerFrame frame = NewFrame();
  frame.header.mutable_goodbye()->set_code(ending.code);
  frame.header.mutable_goodbye()->set_message(ending.message);
  sink_.Send(std::move(frame));
  sink_.Close(absl::AbortedError(ending.message));
  state_ = State::kClosed;
}

void Session::SendWelcome() {
  ServerFrame frame = NewFrame();
  frame.header.mutable_welcome();
  sink_.Send(std::move(frame));
}

ServerFrame Session::NewFrame() const {
  ServerFrame frame;
  frame.header.set_generation(static_cast<uint64_t>(shard_.generation().value()));
  return frame;
}

}  // namespace ssd
