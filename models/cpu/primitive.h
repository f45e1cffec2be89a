// oneDNN's objects as the operations need them: made once, run often.
#ifndef SSD_MODELS_CPU_PRIMITIVE_H_
#define SSD_MODELS_CPU_PRIMITIVE_H_

#include <dnnl.hpp>
#include <initializer_list>
#include <memory>
#include <vector>

#include "models/host_memory.h"
#include "models/operations.h"

namespace ssd {

// The engine, the stream and the scratch memory that the primitives of one device share.
//
// oneDNN's own scratch memory belongs to the thread that made the primitive, and a model may be made on
// another thread than it runs on; so primitives get theirs from here (scratchpad_mode::user).
class CpuRuntime {
 public:
  CpuRuntime();

  const dnnl::engine& engine() const { return engine_; }
  const dnnl::stream& stream() const { return stream_; }

  // The attribute that every primitive here is made with.
  dnnl::primitive_attr Attributes() const;

  // Makes scratch() at least this large.
  void ReserveScratch(size_t bytes);
  float* scratch() const { return scratch_ ? scratch_->data() : nullptr; }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::unique_ptr<AlignedArray> scratch_;
};

// The number of threads that oneDNN uses when called by this thread. REQUIRES: threads >= 1.
void SetThreads(int threads);

// A primitive and the memory objects of its arguments. A run sets the pointers that changed and executes.
class Primitive {
 public:
  struct Argument {
    int index;  // DNNL_ARG_...
    dnnl::memory::desc desc;
  };

  // REQUIRES: `description` was made with runtime.Attributes(); `runtime` outlives this.
  template <typename Description>
  static Primitive Make(CpuRuntime& runtime, const Description& description,
                        std::vector<Argument> arguments) {
    return Primitive(runtime, dnnl::primitive(description.get()), description.scratchpad_desc(),
                     std::move(arguments));
  }

  // REQUIRES: one pointer for each argument, in their order.
  void Run(std::initializer_list<const void*> pointers);

 private:
  Primitive(CpuRuntime& runtime, dnnl::primitive primitive, dnnl::memory::desc scratchpad,
            std::vector<Argument> arguments);

  CpuRuntime* runtime_;
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;      // of the arguments, then the scratchpad
  std::vector<dnnl_exec_arg_t> arguments_;  // the same, as dnnl_primitive_execute takes them
};

// Weights in the layout that a primitive asks for, made of those in ours, or put back into ours.
class WeightReorder {
 public:
  // Between `plain`, the flat vector's layout, and `packed`, the primitive's. Does nothing where they are the
  // same.
  static WeightReorder Pack(CpuRuntime& runtime, const dnnl::memory::desc& plain,
                            const dnnl::memory::desc& packed);
  static WeightReorder Unpack(CpuRuntime& runtime, const dnnl::memory::desc& packed,
                              const dnnl::memory::desc& plain);

  // The packed form of `plain`, to be read until the next call.
  const float* Packed(const float* plain);
  // Where the primitive writes its packed result, to be followed by Finish.
  float* Target(float* plain) { return packed_ ? packed_->data() : plain; }
  void Finish(float* plain);

 private:
  WeightReorder() = default;

  std::unique_ptr<AlignedArray> packed_;  // null: the layouts are the same
  std::unique_ptr<Primitive> reorder_;
};

}  // namespace ssd

#endif  // SSD_MODELS_CPU_PRIMITIVE_H_
