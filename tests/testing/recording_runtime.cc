#include "tests/testing/recording_runtime.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/logging.h"

namespace ssd::testing {
namespace {

constexpr const char* kNames[] = {"compute", "to-host", "to-device", "host"};

bool Overlap(const MemoryAccess& a, const MemoryAccess& b) {
  const auto* a_begin = static_cast<const char*>(a.begin);
  const auto* b_begin = static_cast<const char*>(b.begin);
  return a_begin < b_begin + b.bytes && b_begin < a_begin + a.bytes;
}

}  // namespace

void* RecordingRuntime::Allocate(Place place, int64_t bytes) {
  ++allocations;
  ++live;
  log.push_back(absl::StrCat("allocate ", place == Place::kDevice ? "device " : "pinned ", bytes));
  auto memory = std::make_unique<char[]>(bytes);
  void* const data = memory.get();
  memory_.emplace(data, std::move(memory));
  return data;
}

void RecordingRuntime::Free(Place /*place*/, void* memory) {
  CHECK_EQ(memory_.erase(memory), 1u) << "freed twice, or never allocated";
  --live;
}

RecordingRuntime::Event RecordingRuntime::NewEvent() {
  events_.emplace_back();
  return static_cast<Event>(events++);
}

void RecordingRuntime::Learn(Knowledge& knower, const Knowledge& known) {
  for (size_t i = 0; i < knower.size(); ++i) knower[i] = std::max(knower[i], known[i]);
}

void RecordingRuntime::Record(Event event, CudaStream stream) {
  // It carries what the host knew as well, since the stream runs it after being told to.
  Learn(knowledge_[Index(stream)], knowledge_[kHost]);
  events_.at(event) = {.knowledge = knowledge_[Index(stream)]};
  log.push_back(absl::StrCat(kNames[Index(stream)], ": record ", event));
}

void RecordingRuntime::Order(Event event, CudaStream stream) {
  Learn(knowledge_[Index(stream)], events_.at(event).knowledge);
  log.push_back(absl::StrCat(kNames[Index(stream)], ": wait ", event));
}

void RecordingRuntime::Await(Event event) {
  Learn(knowledge_[kHost], events_.at(event).knowledge);
  ++awaits;
  log.push_back(absl::StrCat("host awaits ", event));
}

bool RecordingRuntime::HasCome(Event event) {
  if (events_.at(event).come) Learn(knowledge_[kHost], events_[event].knowledge);
  return events_[event].come;
}

void RecordingRuntime::ComeAll() {
  for (EventState& event : events_) event.come = true;
}

void RecordingRuntime::Touch(int who, const std::string& name, std::initializer_list<MemoryAccess> accesses) {
  log.push_back(absl::StrCat(kNames[who], ": ", name));
  Knowledge& knowledge = knowledge_[who];
  Learn(knowledge, knowledge_[kHost]);
  const int64_t now = ++knowledge[who];
  for (const MemoryAccess& access : accesses) {
    for (const Access& earlier : accesses_) {
      if (earlier.when <= knowledge[earlier.who] || !Overlap(access, earlier.memory)) continue;
      if (!access.is_write && !earlier.memory.is_write) continue;
      races.push_back(absl::StrCat(log.back(), " and ", earlier.name));
    }
  }
  for (const MemoryAccess& access : accesses) accesses_.push_back({access, who, now, log.back()});
}

void RecordingRuntime::Copy(CudaStream stream, void* to, const void* from, int64_t bytes) {
  Touch(Index(stream), absl::StrCat("copy ", bytes), {{from, bytes, false}, {to, bytes, true}});
  std::memmove(to, from, bytes);
}

void RecordingRuntime::Clear(CudaStream stream, void* memory, int64_t bytes) {
  Touch(Index(stream), absl::StrCat("clear ", bytes), {{memory, bytes, true}});
  std::memset(memory, 0, bytes);
}

void RecordingRuntime::Launch(CudaStream stream, const char* name,
                              std::initializer_list<MemoryAccess> accesses,
                              absl::FunctionRef<void(const KernelStream& to)> /*launch*/) {
  Touch(Index(stream), name, accesses);
}

void RecordingRuntime::Work(CudaStream stream, const std::string& name,
                            std::initializer_list<MemoryAccess> accesses) {
  Touch(Index(stream), name, accesses);
}

void RecordingRuntime::Host(const std::string& name, std::initializer_list<MemoryAccess> accesses) {
  Touch(kHost, name, accesses);
}

void RecordingRuntime::Notify(CudaStream stream, std::function<void()> notify) {
  Learn(knowledge_[Index(stream)], knowledge_[kHost]);
  notifications_.emplace_back(knowledge_[Index(stream)], std::move(notify));
  log.push_back(absl::StrCat(kNames[Index(stream)], ": notify"));
}

bool RecordingRuntime::DeliverOne() {
  if (notifications_.empty()) return false;
  auto [knowledge, notify] = std::move(notifications_.front());
  notifications_.pop_front();
  Learn(knowledge_[kHost], knowledge);
  notify();
  return true;
}

}  // namespace ssd::testing
