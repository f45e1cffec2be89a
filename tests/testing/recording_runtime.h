// A CudaRuntime without a GPU: it writes down what it is asked for, and finds accesses to memory that nothing orders.
//
// It knows what happens before what by vector clocks (Mattern 1989), one count for the host and one for each stream: work
// knows all that its stream and, when it was put there, the host knew; an event carries what its stream knew to the stream
// or the host that waits for it, a notification to the host when it is delivered. Two accesses to the same memory of which
// one writes are a race unless the later one knows of the earlier one.
#ifndef SSD_TESTS_TESTING_RECORDING_RUNTIME_H_
#define SSD_TESTS_TESTING_RECORDING_RUNTIME_H_

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/cuda/runtime.h"

namespace ssd::testing {

class RecordingRuntime final : public CudaRuntime {
 public:
  void* Allocate(Place place, int64_t bytes) override;
  void Free(Place place, void* memory) override;
  Event NewEvent() override;
  void Record(Event event, CudaStream stream) override;
  void Order(Event event, CudaStream stream) override;
  void Await(Event event) override;
  // True for all events from ComeAll on, until they are recorded again.
  bool HasCome(Event event) override;
  void Copy(CudaStream stream, void* to, const void* from, int64_t bytes) override;
  void Clear(CudaStream stream, void* memory, int64_t bytes) override;
  void Launch(CudaStream stream, const char* name, std::initializer_list<MemoryAccess> accesses,
              absl::FunctionRef<void(const KernelStream& to)> launch) override;  // launches nothing
  void Notify(CudaStream stream, std::function<void()> notify) override;

  // Work that only the test does: a piece in a stream, and the host's own touching of memory.
  void Work(CudaStream stream, const std::string& name, std::initializer_list<MemoryAccess> accesses);
  void Host(const std::string& name, std::initializer_list<MemoryAccess> accesses);

  // Delivers the oldest notification; false where there is none.
  bool DeliverOne();
  void DeliverAll() {
    while (DeliverOne()) {
    }
  }
  // All events have come, as after a long time.
  void ComeAll();

  // "compute: glu", "to-device: copy 64", "host awaits 3", ... in the order of the calls.
  std::vector<std::string> log;
  // "<later> and <earlier>", empty where all is in order.
  std::vector<std::string> races;
  int64_t allocations = 0;
  int64_t live = 0;    // allocations that are not freed
  int64_t events = 0;  // made
  int64_t awaits = 0;  // of the host

 private:
  static constexpr int kHost = kCudaStreams;
  using Knowledge = std::array<int64_t, kCudaStreams + 1>;
  struct Access {
    MemoryAccess memory;
    int who;
    int64_t when;
    std::string name;
  };

  static int Index(CudaStream stream) { return static_cast<int>(stream); }
  static void Learn(Knowledge& knower, const Knowledge& known);
  void Touch(int who, const std::string& name, std::initializer_list<MemoryAccess> accesses);

  std::array<Knowledge, kCudaStreams + 1> knowledge_ = {};
  struct EventState {
    Knowledge knowledge = {};
    bool come = false;
  };
  std::vector<EventState> events_;
  std::deque<std::pair<Knowledge, std::function<void()>>> notifications_;
  std::vector<Access> accesses_;
  std::map<void*, std::unique_ptr<char[]>> memory_;
};

}  // namespace ssd::testing

#endif  // SSD_TESTS_TESTING_RECORDING_RUNTIME_H_
