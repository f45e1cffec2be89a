#include "models/cpu/primitive.h"

#include <algorithm>

#include "common/logging.h"

// From libgomp, which oneDNN runs on; clang has no omp.h of libgomp's.
// NOLINTNEXTLINE(readability-identifier-naming): its name is libgomp's.
extern "C" void omp_set_num_threads(int threads);

namespace ssd {

CpuRuntime::CpuRuntime() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

dnnl::primitive_attr CpuRuntime::Attributes() const {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void CpuRuntime::ReserveScratch(size_t bytes) {
  const auto floats = static_cast<int64_t>((bytes + sizeof(float) - 1) / sizeof(float));
  if (floats > 0 && (!scratch_ || scratch_->size() < floats))
    scratch_ = std::make_unique<AlignedArray>(floats);
}

void SetThreads(int threads) {
  CHECK_GE(threads, 1);
  omp_set_num_threads(threads);
}

Primitive::Primitive(CpuRuntime& runtime, dnnl::primitive primitive, dnnl::memory::desc scratchpad,
                     std::vector<Argument> arguments)
    : runtime_(&runtime), primitive_(std::move(primitive)) {
  runtime.ReserveScratch(scratchpad.get_size());
  arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad});
  memories_.reserve(arguments.size());
  for (const Argument& argument : arguments) {
    memories_.emplace_back(argument.desc, runtime.engine(), static_cast<void*>(DNNL_MEMORY_NONE));
    arguments_.push_back({argument.index, memories_.back().get()});
  }
}

void Primitive::Run(std::initializer_list<const void*> pointers) {
  CHECK_EQ(pointers.size() + 1, memories_.size());
  auto memory = memories_.begin();
  const auto point = [](dnnl::memory& memory, const void* pointer) {
    // oneDNN takes inputs by pointers to non-const as well, and does not write to them.
    if (memory.get_data_handle() != pointer) memory.set_data_handle(const_cast<void*>(pointer));
  };
  for (const void* pointer : pointers) point(*memory++, pointer);
  point(*memory, runtime_->scratch());
  const dnnl_status_t status = dnnl_primitive_execute(primitive_.get(), runtime_->stream().get(),
                                                      static_cast<int>(arguments_.size()), arguments_.data());
  CHECK_EQ(status, dnnl_success);
}

WeightReorder WeightReorder::Pack(CpuRuntime& runtime, const dnnl::memory::desc& plain,
                                  const dnnl::memory::desc& packed) {
  WeightReorder result;
  if (plain == packed) return result;
  const dnnl::reorder::primitive_desc description(runtime.engine(), plain, runtime.engine(), packed,
                                                  runtime.Attributes());
  result.packed_ = std::make_unique<AlignedArray>((packed.get_size() + sizeof(float) - 1) / sizeof(float));
  result.reorder_ = std::make_unique<Primitive>(
      Primitive::Make(runtime, description, {{DNNL_ARG_FROM, plain}, {DNNL_ARG_TO, packed}}));
  return result;
}

WeightReorder WeightReorder::Unpack(CpuRuntime& runtime, const dnnl::memory::desc& packed,
                                    const dnnl::memory::desc& plain) {
  WeightReorder result;
  if (plain == packed) return result;
  const dnnl::reorder::primitive_desc description(runtime.engine(), packed, runtime.engine(), plain,
                                                  runtime.Attributes());
  result.packed_ = std::make_unique<AlignedArray>((packed.get_size() + sizeof(float) - 1) / sizeof(float));
  result.reorder_ = std::make_unique<Primitive>(
      Primitive::Make(runtime, description, {{DNNL_ARG_FROM, packed}, {DNNL_ARG_TO, plain}}));
  return result;
}

const float* WeightReorder::Packed(const float* plain) {
  if (!packed_) return plain;
  reorder_->Run({plain, packed_->data()});
  return packed_->data();
}

void WeightReorder::Finish(float* plain) {
  if (packed_) reorder_->Run({packed_->data(), plain});
}

}  // namespace ssd
