// How fast a model trains: one step, forward and backward, of a whole batch, on one thread.
//
//   model_benchmark --benchmark_filter=resnet20/ --benchmark_repetitions=5
//
// samples/s counts the thread's CPU time, which other processes disturb least. With DNNL_VERBOSE=1 oneDNN
// prints each primitive's time; what is missing to the time printed here is the code around them.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/initialization.h"
#include "models/registry.h"
#include "tests/testing/deterministic.h"

namespace ssd {
namespace {

struct Images {
  ImageShape shape;
  int64_t classes;
};
constexpr Images kCifar = {.shape = {32, 32, 3}, .classes = 10};
constexpr Images kImageNet = {.shape = {224, 224, 3}, .classes = 1000};

void TrainingStep(benchmark::State& state, const std::string& name, const Images& kind) {
  const int64_t batch = state.range(0);
  const ModelOptions options{.image = kind.shape, .classes = kind.classes, .batch_size = batch, .threads = 1};
  const absl::StatusOr<std::unique_ptr<Model>> model = MakeModel(name, options);
  if (!model.ok()) {
    state.SkipWithError(model.status().ToString().c_str());
    return;
  }
  InitializeParameters((*model)->layout(), /*seed=*/1, (*model)->parameters(), (*model)->buffers());
  const std::vector<double> numbers = testing::Deterministic("images", batch * options.image.size());
  const std::vector<float> images(numbers.begin(), numbers.end());
  std::vector<int32_t> labels(batch);
  for (int64_t i = 0; i < batch; ++i) labels[i] = static_cast<int32_t>(i % options.classes);
  std::vector<float> gradient((*model)->layout().parameters.size());
  const auto train = [&] { (*model)->Train({images, labels, batch}, gradient, [](int64_t) {}); };

  train();  // warms caches up
  for ([[maybe_unused]] auto _ : state) train();
  state.counters["samples/s"] =
      benchmark::Counter(static_cast<double>(state.iterations() * batch), benchmark::Counter::kIsRate);
}

void Register(const std::string& name, const Images& kind, int64_t batch) {
  benchmark::RegisterBenchmark(("TrainingStep/" + name).c_str(), TrainingStep, name, kind)
      ->ArgName("batch")
      ->Arg(batch)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace ssd

int main(int argc, char** argv) {
  ssd::Register("resnet8", ssd::kCifar, 32);
  ssd::Register("resnet20", ssd::kCifar, 32);
  ssd::Register("resnet18", ssd::kImageNet, 16);
  ssd::Register("resnet50", ssd::kImageNet, 16);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
