// How fast a model of 100 MB goes between workers and 2 shards over loopback, beside plain TCP streams, and how many CPU
// seconds a GB costs, both sides together:
//
//   RawTcp   one stream a worker: send from an array, receive into an array
//   Push     gradients through ParameterClient, gRPC, Session and ParameterShard, the servers' update included
//   Pull     weights the other way
//
//   grpc_transport_benchmark --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true
//
// One process holds both sides, each worker and each shard on a thread of its own, as in the programs.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/logging.h"
#include "common/wire/grpc_frame.h"
#include "tests/benchmark/grpc_transport.h"
#include "tests/benchmark/tcp_stream.h"

namespace ssd::benchmarks {
namespace {

constexpr int64_t kFloats = 25'000'000;
constexpr int64_t kBytes = kFloats * static_cast<int64_t>(sizeof(float));
constexpr int kPushesAPeriod = 4;

double ProcessCpuSeconds() {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Counts what the process spends from here to Report.
class Meter {
 public:
  void Report(benchmark::State& state, int64_t bytes_an_iteration) const {
    const int64_t bytes = state.iterations() * bytes_an_iteration;
    state.SetBytesProcessed(bytes);
    state.counters["cpu_seconds_per_GB"] =
        benchmark::Counter((ProcessCpuSeconds() - before_) / (1e-9 * static_cast<double>(bytes)));
  }

 private:
  const double before_ = ProcessCpuSeconds();
};

void RawTcp(benchmark::State& state) {
  std::vector<std::unique_ptr<TcpStream>> streams;
  for (int64_t i = 0; i < state.range(0); ++i) streams.push_back(std::make_unique<TcpStream>(kBytes));
  const Meter meter;
  for ([[maybe_unused]] auto _ : state) {
    std::vector<std::thread> threads;
    for (const std::unique_ptr<TcpStream>& stream : streams) {
      threads.emplace_back([&stream] { stream->Send(); });
      threads.emplace_back([&stream] { stream->Receive(); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  meter.Report(state, state.range(0) * kBytes);
}

void Push(benchmark::State& state) {
  const int workers = static_cast<int>(state.range(0));
  GrpcTransport transport({.workers = workers,
                           .floats = kFloats,
                           .period = kPushesAPeriod,
                           .periods = static_cast<int64_t>(state.max_iterations) + 1});
  transport.PushPeriod();  // fills the pools of buffers
  const Meter meter;
  for ([[maybe_unused]] auto _ : state) transport.PushPeriod();
  meter.Report(state, workers * kPushesAPeriod * kBytes);
}

void Pull(benchmark::State& state) {
  const int workers = static_cast<int>(state.range(0));
  GrpcTransport transport({.workers = workers, .floats = kFloats});
  transport.Pull();  // likewise
  const Meter meter;
  for ([[maybe_unused]] auto _ : state) transport.Pull();
  meter.Report(state, workers * kBytes);
}

BENCHMARK(RawTcp)->ArgName("workers")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Push)->ArgName("workers")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Pull)->ArgName("workers")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ssd::benchmarks

int main(int argc, char** argv) {
  ssd::QuietGrpc();
  ssd::SetMinLogSeverity(ssd::LogSeverity::kWarning);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
