#include "tests/integration/ends_cluster.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/logging.h"
#include "deploy/run/local_addresses.h"

namespace ssd {

using testing::Process;

std::string Program(const std::string& name) { return absl::StrCat(SSD_BINARY_DIR, "/", name); }

std::string SmallExperiment() {
  return R"(name: ends
data: {dataset: shapes, shapes_train: 256, shapes_test: 32, augment: false}
model: {name: resnet8}
training: {duration: 1000000it, batch_size: 8}
optimizer: {lr: 0.05}
sync: {policy: ssd_sgd, k: 4, warmup: 2it}
evaluation: {every: 0it}
cluster: {servers: 2, workers: 2, threads: 1, rendezvous_timeout: 30s, peer_timeout: 10s}
output: {report_every: 5it}
)";
}

EndsCluster::EndsCluster(std::vector<std::string> settings, Transport transport)
    : settings_(std::move(settings)) {
  CHECK(std::filesystem::create_directory(run_dir()));
  Append(config_path(), SmallExperiment());
  if (transport == Transport::kTcp) {
    const auto free = FreeTcpAddresses(2);
    CHECK(free.ok()) << free.status().ToString();
    addresses_ = *free;
  } else {
    addresses_ = {"unix:" + directory_.File("0.sock"), "unix:" + directory_.File("1.sock")};
  }
  settings_.push_back(absl::StrCat("cluster.addresses=[\"", absl::StrJoin(addresses_, "\", \""), "\"]"));
}

Process& EndsCluster::Start(const std::string& program, const std::string& flag, const std::string& kind,
                            int index, Process::Start start, const std::vector<std::string>& wrapper,
                            const std::vector<std::string>& settings) {
  std::vector<std::string> arguments = wrapper;
  arguments.insert(arguments.end(), {Program(program), "--config", config_path(), flag, absl::StrCat(index),
                                     "--run_dir", run_dir(), "--verbosity", "1"});
  for (const std::vector<std::string>* list : {&std::as_const(settings_), &settings}) {
    for (const std::string& setting : *list) arguments.insert(arguments.end(), {"--set", setting});
  }
  processes_.push_back(
      std::make_unique<Process>(absl::StrCat(kind, " ", index), arguments, start,
                                std::vector<std::string>{"OMP_NUM_THREADS=1", "OMP_WAIT_POLICY=passive"}));
  return *processes_.back();
}

Process& EndsCluster::StartShard(int shard, Process::Start start, const std::vector<std::string>& wrapper) {
  return Start("ssd-server", "--shards", "shard", shard, start, wrapper, {});
}

Process& EndsCluster::StartWorker(int worker, Process::Start start, const std::vector<std::string>& wrapper) {
  return Start("ssd-worker", "--worker", "worker", worker, start, wrapper, {});
}

Process& EndsCluster::StartOddWorker(int worker, const std::vector<std::string>& settings) {
  return Start("ssd-worker", "--worker", "worker", worker, Process::Start::kRunning, {}, settings);
}

void EndsCluster::StartAll() {
  for (int i = 0; i < 2; ++i) StartShard(i);
  for (int i = 0; i < 2; ++i) StartWorker(i);
}

std::string EndsCluster::Outputs() const {
  std::string all;
  for (const auto& process : processes_)
    absl::StrAppend(&all, "--- ", process->name(), "\n", process->output());
  return all;
}

}  // namespace ssd
