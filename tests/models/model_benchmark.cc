// Training samples a second of a model: model_benchmark [name] [batch] [threads] [steps].
//
// cpu_ms is the fastest step's CPU time over all threads, which other processes disturb least.
//
// With DNNL_VERBOSE=1 oneDNN prints each primitive's time; their sum over the steps against the time printed
// here is what the code around them costs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "models/initialization.h"
#include "models/registry.h"
#include "tests/testing/deterministic.h"

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "resnet20";
  const int64_t batch = argc > 2 ? std::atoi(argv[2]) : 32;
  const int threads = argc > 3 ? std::atoi(argv[3]) : 1;
  const int steps = argc > 4 ? std::atoi(argv[4]) : 20;

  const ssd::ModelOptions options{
      .image = {32, 32, 3}, .classes = 10, .batch_size = batch, .threads = threads};
  auto made = ssd::MakeModel(name, options);
  if (!made.ok()) {
    std::fprintf(stderr, "%s\n", made.status().ToString().c_str());
    return 2;
  }
  ssd::Model& model = **made;
  ssd::InitializeParameters(model.layout(), /*seed=*/1, model.parameters(), model.buffers());
  const std::vector<double> numbers = ssd::testing::Deterministic("images", batch * options.image.size());
  const std::vector<float> images(numbers.begin(), numbers.end());
  std::vector<int32_t> labels(batch);
  for (int64_t i = 0; i < batch; ++i) labels[i] = static_cast<int32_t>(i % options.classes);
  std::vector<float> gradient(model.layout().parameters.size());

  double fastest = 1e30;
  double fastest_cpu = 1e30;
  double total = 0;
  for (int step = 0; step <= steps; ++step) {
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu_start = std::clock();
    model.Train({images, labels, batch}, gradient, [](int64_t) {});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double cpu = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
    if (step == 0) continue;  // warms caches up
    total += seconds;
    fastest = std::min(fastest, seconds);
    fastest_cpu = std::min(fastest_cpu, cpu);
  }
  std::printf(
      "model=%s batch=%ld threads=%d step_ms=%.2f fastest_ms=%.2f cpu_ms=%.2f samples_per_second=%.1f\n",
      name.c_str(), static_cast<long>(batch), threads, 1e3 * total / steps, 1e3 * fastest, 1e3 * fastest_cpu,
      static_cast<double>(batch) / fastest);
}
