// How fast models train, beside what the machine can do:
//
//   TrainingStep   a worker's step without a cluster: forward, backward, and momentum SGD on its own weights
//   Primitives     the oneDNN primitives of that step alone, in their order: see onednn_device.h
//   Sgemm          oneDNN's product of two large matrices
//
//   model_benchmark --benchmark_filter='resnet20/batch:128/cores:2/' --benchmark_repetitions=5
//
// run.py step puts them beside each other and beside other systems.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "models/cpu/device.h"
#include "models/registry.h"
#include "tests/benchmark/bare_worker.h"
#include "tests/benchmark/onednn_device.h"

namespace ssd::benchmarks {
namespace {

using Counter = benchmark::Counter;

// Builds the worker at the first call of a benchmark function and keeps it for the next ones, which Google Benchmark
// makes to find out how many iterations fill the time.
class WorkerCache {
 public:
  BareWorker* Get(benchmark::State& state, const std::string& model, DeviceFactory make_device) {
    const std::vector<int64_t> key = {state.range(0), state.range(1)};
    if (worker_ == nullptr || key_ != key) {
      worker_.reset();
      absl::StatusOr<std::unique_ptr<BareWorker>> made =
          BareWorker::Make(model, key[0], static_cast<int>(key[1]), make_device);
      if (!made.ok()) {
        state.SkipWithError(made.status().ToString().c_str());
        return nullptr;
      }
      worker_ = *std::move(made);
      key_ = key;
      worker_->ComputeGradient();  // warms caches up
    }
    return worker_.get();
  }

 private:
  std::vector<int64_t> key_;
  std::unique_ptr<BareWorker> worker_;
};

double Samples(const benchmark::State& state) {
  return static_cast<double>(state.iterations() * state.range(0));
}

void TrainingStep(benchmark::State& state, const std::string& model, WorkerCache& cache) {
  BareWorker* const worker = cache.Get(state, model, MakeCpuDevice);
  if (worker == nullptr) return;
  for ([[maybe_unused]] auto _ : state) worker->Step();
  state.counters["samples/s"] = Counter(Samples(state), Counter::kIsRate);
}

// Its time is the primitives', not that of the iteration.
void Primitives(benchmark::State& state, const std::string& model, WorkerCache& cache,
                PrimitiveSeconds& seconds) {
  BareWorker* const worker =
      cache.Get(state, model, [&seconds](int threads) { return MakeOneDnnDevice(threads, seconds); });
  if (worker == nullptr) return;
  const PrimitiveSeconds before = seconds;
  for ([[maybe_unused]] auto _ : state) {
    const double started = seconds.total();
    worker->ComputeGradient();
    state.SetIterationTime(seconds.total() - started);
  }
  const auto milliseconds = [&state](double now, double then) {
    return Counter(1000 * (now - then) / static_cast<double>(state.iterations()));
  };
  state.counters["samples/s"] = Counter(Samples(state), Counter::kIsRate);
  state.counters["forward_ms"] = milliseconds(seconds.forward, before.forward);
  state.counters["backward_data_ms"] = milliseconds(seconds.backward_data, before.backward_data);
  state.counters["backward_weights_ms"] = milliseconds(seconds.backward_weights, before.backward_weights);
  state.counters["batch_norm_ms"] = milliseconds(seconds.batch_norm, before.batch_norm);
  state.counters["other_ms"] = milliseconds(seconds.other, before.other);
}

void Sgemm(benchmark::State& state) {
  constexpr int64_t kSize = 2048;
  const std::vector<float> a(kSize * kSize, 0.5f);
  const std::vector<float> b(kSize * kSize, 0.25f);
  std::vector<float> c(kSize * kSize);
  const int threads = static_cast<int>(state.range(0));
  OneDnnSgemm(threads, kSize, a.data(), b.data(), c.data());
  for ([[maybe_unused]] auto _ : state) OneDnnSgemm(threads, kSize, a.data(), b.data(), c.data());
  state.counters["GFLOP/s"] =
      Counter(2e-9 * kSize * kSize * kSize * static_cast<double>(state.iterations()), Counter::kIsRate);
}

void RegisterAll() {
  std::vector<int64_t> cores = {1};
  if (std::thread::hardware_concurrency() > 1) cores.push_back(std::thread::hardware_concurrency());
  const std::vector<std::vector<int64_t>> sizes = {{2, 16, 32, 128}, cores};
  for (const std::string& model : ModelNames()) {
    const auto cache = std::make_shared<WorkerCache>();
    benchmark::RegisterBenchmark(
        ("TrainingStep/" + model).c_str(),
        [model, cache](benchmark::State& state) { TrainingStep(state, model, *cache); })
        ->ArgNames({"batch", "cores"})
        ->ArgsProduct(sizes)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();

    const auto bare_cache = std::make_shared<WorkerCache>();
    const auto seconds = std::make_shared<PrimitiveSeconds>();
    benchmark::RegisterBenchmark(("Primitives/" + model).c_str(),
                                 [model, seconds, bare_cache](benchmark::State& state) {
                                   Primitives(state, model, *bare_cache, *seconds);
                                 })
        ->ArgNames({"batch", "cores"})
        ->ArgsProduct(sizes)
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime();
  }
  benchmark::RegisterBenchmark("Sgemm", Sgemm)
      ->ArgName("cores")
      ->ArgsProduct({cores})
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
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
