// How fast weights are updated, in bytes per second, beside memcpy: one thread, a model of 100 MB, block by block as in a
// run.
//
//   update_benchmark --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true
//
// The bytes are those that the formula cannot do without: each array that it reads, and each that it writes, once. (To
// write an array the processor reads it first, unless it is told not to, as memcpy does for large ones.)
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/logging.h"
#include "common/optimizer.h"
#include "common/parameter_layout.h"
#include "common/partition.h"
#include "models/host_memory.h"
#include "server/parameter_shard.h"
#include "worker/local_update.h"

namespace ssd::benchmarks {
namespace {

constexpr int64_t kFloats = 25'000'000;

ModelLayout Layout() {
  ModelLayout layout;
  layout.parameters.Add("weights", {kFloats});
  return layout;
}

const Partition& Blocks() {
  static const Partition partition(Layout(), /*num_shards=*/1, /*block_bytes=*/std::nullopt);
  return partition;
}

void SetArrays(benchmark::State& state, int arrays) {
  state.SetBytesProcessed(state.iterations() * arrays * kFloats * static_cast<int64_t>(sizeof(float)));
}

// Small values that do not grow or vanish within a benchmark.
std::vector<float> Values() { return std::vector<float>(kFloats, 0.01f); }

void Memcpy(benchmark::State& state) {
  const std::vector<float> from = Values();
  std::vector<float> to = Values();
  for ([[maybe_unused]] auto _ : state) {
    std::memcpy(to.data(), from.data(), kFloats * sizeof(float));
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  SetArrays(state, 2);
}

// The servers' formula alone. `steps`: of a period; 1: ApplyStep.
void Optimizer(benchmark::State& state, bool nesterov, int steps) {
  const OptimizerOptions options{.weight_decay = 1e-4, .nesterov = nesterov};
  const std::vector<float> gradient = Values();
  std::vector<float> weights = Values(), velocity = Values(), new_weights = Values(), new_velocity = Values();
  const std::vector<double> etas(steps, 1e-3);
  for ([[maybe_unused]] auto _ : state) {
    for (const Block& block : Blocks().blocks()) {
      const auto of = [&block](std::vector<float>& array) {
        return std::span(array).subspan(block.offset, block.size);
      };
      const OptimizerState arrays{.weights = of(weights),
                                  .velocity = of(velocity),
                                  .new_weights = of(new_weights),
                                  .new_velocity = of(new_velocity)};
      const std::span<const float> sum = std::span(gradient).subspan(block.offset, block.size);
      if (steps == 1) {
        ApplyStep(options, etas[0], sum, /*count=*/2, arrays);
      } else {
        ApplyPeriod(options, etas, sum, /*count=*/2, arrays);
      }
    }
    weights.swap(new_weights);
    velocity.swap(new_velocity);
  }
  SetArrays(state, 5);  // reads gradient, weights, velocity; writes weights, velocity
}

// What a shard does with the pushes of a step: checks them for infinities, adds them up, and updates.
void Shard(benchmark::State& state) {
  const int workers = static_cast<int>(state.range(0));
  const auto schedule = std::make_shared<SyncSchedule>(
      SyncScheduleOptions{.policy = SyncScheduleOptions::Policy::kSsgd, .total_steps = int64_t{1} << 40});
  const auto rate = std::make_shared<LearningRate>(LearningRateOptions{.base = 1e-3});
  BufferPool pool;
  ParameterShard shard({.shard = ShardId(0), .num_workers = workers, .optimizer = {.weight_decay = 1e-4}},
                       Layout(), Blocks(), schedule, rate, &pool);
  for (const Block& block : Blocks().blocks()) {
    CHECK_OK(shard.SetInitial(block.id, Buffer::Copy(std::vector<float>(block.size, 0.01f))));
  }
  std::vector<Buffer> gradients;
  for (int worker = 0; worker < workers; ++worker) gradients.push_back(Buffer::Copy(Values()));
  ssd::Step step(0);
  const auto push_all = [&] {
    for (const Block& block : Blocks().blocks()) {
      for (int worker = 0; worker < workers; ++worker) {
        CHECK_OK(
            shard.Push(WorkerId(worker), block.id, step, gradients[worker].Slice(block.offset, block.size)));
      }
    }
    ++step;
  };
  for (int i = 0; i < 4; ++i) push_all();  // the pool then has all arrays that a run needs
  for ([[maybe_unused]] auto _ : state) push_all();
  SetArrays(state, workers + 4);  // reads the gradients, weights, velocity; writes weights, velocity
}

// A local update, and how many arrays its formula reads and writes.
struct LocalCase {
  const char* name;
  LocalUpdateOptions::Kind kind;
  int apply_arrays;
  int install_arrays;
};
// Each comment: what a step reads; writes | what a pull reads; writes.
constexpr LocalCase kLocalCases[] = {
    {"sgd", LocalUpdateOptions::Kind::kSgd, 3, 2},                   // g, x; x           | pulled; x
    {"glu", LocalUpdateOptions::Kind::kGlu, 4, 4},                   // g, G, x; x        | pulled, last; x, G
    {"momentum", LocalUpdateOptions::Kind::kMomentum, 5, 2},         // g, u, x; u, x     | pulled; x
    {"glu_velocity", LocalUpdateOptions::Kind::kGluVelocity, 5, 5},  // g, u, x; u, x     | pulled, x, u; x, u
    {"glu_momentum", LocalUpdateOptions::Kind::kGluMomentum, 5, 4},  // g, v, x; v, x     | pulled, last; x, v
    {"glu_prototype", LocalUpdateOptions::Kind::kGluPrototype, 4, 2},  // g, snapshot, x; x | pulled; x
    {"dc_local", LocalUpdateOptions::Kind::kDcLocal, 4, 2},            // g, last, x; x     | pulled; x
};

// The delay stage, after the pull of version 0.
class LocalWorker {
 public:
  explicit LocalWorker(LocalUpdateOptions::Kind kind)
      : update_({.kind = kind, .weight_decay = 1e-4}, Blocks(),
                std::make_shared<SyncSchedule>(SyncScheduleOptions{.total_steps = int64_t{1} << 40}),
                std::make_shared<LearningRate>(LearningRateOptions{.base = 1e-3}), memory_) {
    Install(Version(0), Buffer::Copy(Values()));
  }

  void Apply(ssd::Step step) {
    for (const Block& block : Blocks().blocks()) {
      update_.Apply(block.id, step, std::span(gradient_).subspan(block.offset, block.size),
                    std::span(x_).subspan(block.offset, block.size));
    }
  }
  void Install(Version version, const Buffer& pulled) {
    for (const Block& block : Blocks().blocks()) {
      update_.Install(block.id, version, pulled.Slice(block.offset, block.size),
                      std::span(x_).subspan(block.offset, block.size));
    }
  }

 private:
  HostMemory memory_;
  LocalUpdate update_;
  const std::vector<float> gradient_ = Values();
  std::vector<float> x_ = Values();
};

void Apply(benchmark::State& state, const LocalCase& local) {
  LocalWorker worker(local.kind);
  ssd::Step step(0);
  for ([[maybe_unused]] auto _ : state) {
    worker.Apply(step);
    ++step;
  }
  SetArrays(state, local.apply_arrays);
}

void Install(benchmark::State& state, const LocalCase& local) {
  LocalWorker worker(local.kind);
  const Buffer pulled[2] = {Buffer::Copy(Values()), Buffer::Copy(Values())};
  Version version(4);
  for ([[maybe_unused]] auto _ : state) {
    worker.Install(version, pulled[version.value() / 4 % 2]);
    version = version + 4;
  }
  SetArrays(state, local.install_arrays);
}

void RegisterAll() {
  const auto add = [](const std::string& name, auto function) {
    return benchmark::RegisterBenchmark(name.c_str(), function)->Unit(benchmark::kMillisecond)->UseRealTime();
  };
  add("Memcpy", Memcpy);
  add("Optimizer/step", [](benchmark::State& state) { Optimizer(state, /*nesterov=*/false, 1); });
  add("Optimizer/step_nesterov", [](benchmark::State& state) { Optimizer(state, /*nesterov=*/true, 1); });
  add("Optimizer/period", [](benchmark::State& state) { Optimizer(state, /*nesterov=*/false, 4); });
  add("Shard", Shard)->ArgName("workers")->Arg(1)->Arg(2)->Arg(4);
  for (const LocalCase& local : kLocalCases) {
    const std::string name = local.name;
    add("LocalUpdate/" + name, [&local](benchmark::State& state) { Apply(state, local); });
    add("Install/" + name, [&local](benchmark::State& state) { Install(state, local); });
  }
}

}  // namespace
}  // namespace ssd::benchmarks

int main(int argc, char** argv) {
  ssd::benchmarks::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
