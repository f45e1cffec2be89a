// bare_worker MODEL BATCH THREADS: trains for as many steps as a line on standard input says, and answers each line
// with {"samples": S, "seconds": T} on standard output. Says {"versions": ...} when it is ready for the first.
//
// run.py runs two of them at once, beside the other programs that speak like this (peers/rounds.py).
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/exit_code.h"
#include "common/version.h"
#include "tests/benchmark/bare_worker.h"

namespace ssd::benchmarks {
namespace {

constexpr int kWarmUpSteps = 3;

int Fail(int code, const std::string& message) {
  std::fprintf(stderr, "bare_worker: %s\n", message.c_str());
  return code;
}

int Main(const std::vector<std::string>& arguments) {
  int64_t batch = 0;
  int threads = 0;
  if (arguments.size() != 3 || !absl::SimpleAtoi(arguments[1], &batch) ||
      !absl::SimpleAtoi(arguments[2], &threads)) {
    return Fail(kExitUsage, "usage: bare_worker MODEL BATCH THREADS");
  }
  const absl::StatusOr<std::unique_ptr<BareWorker>> worker = BareWorker::Make(arguments[0], batch, threads);
  if (!worker.ok()) return Fail(kExitUsage, std::string(worker.status().message()));
  for (int i = 0; i < kWarmUpSteps; ++i) (*worker)->Step();

  std::cout << R"({"versions": "ssd-sgd )" << ProgramVersion() << "\"}" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    int64_t steps = 0;
    if (!absl::SimpleAtoi(line, &steps) || steps < 1)
      return Fail(kExitUsage, "\"" + line + "\": wanted a number");
    (*worker)->Step();  // what slept is not what is measured
    const auto before = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < steps; ++i) (*worker)->Step();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - before;
    std::cout << "{\"samples\": " << steps * batch << ", \"seconds\": " << seconds.count() << "}"
              << std::endl;
  }
  return kExitDone;
}

}  // namespace
}  // namespace ssd::benchmarks

int main(int argc, char** argv) { return ssd::benchmarks::Main({argv + 1, argv + argc}); }
