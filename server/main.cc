// ssd-server: hosts shards of the parameters of one run.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/config/experiment.h"
#include "common/config/reference.h"
#include "common/config/training_plan.h"
#include "common/flags.h"
#include "common/io/disk.h"
#include "common/logging.h"
#include "common/main_loop.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "common/wire/grpc_frame.h"
#include "server/grpc_server.h"
#include "server/run_log.h"
#include "server/shard.h"

namespace ssd {
namespace {

// How long streams may take to send what the shard has said last, and a stopping process to say goodbye.
constexpr absl::Duration kGrace = absl::Seconds(2);
constexpr absl::Duration kStopGrace = absl::Seconds(5);

CommandLine Usage() {
  return {
      .program = "ssd-server",
      .usage = "--config FILE --shards I[-J]",
      .description =
          "Holds shards of the parameters of one training run: adds up the workers' gradients, updates the "
          "weights, and answers pulls. Ends when all workers are done. ssd-run starts it on one machine.",
      .flags = {{.name = "config",
                 .value = "FILE",
                 .doc = "The experiment file; later ones override.",
                 .repeated = true},
                {.name = "set",
                 .value = "KEY=VALUE",
                 .doc = "Overrides one option: --set optimizer.lr=0.2.",
                 .repeated = true},
                {.name = "shards",
                 .value = "I[-J]",
                 .doc = "Which shards this process hosts, from 0: 2 or 0-3."},
                {.name = "run_dir",
                 .value = "DIR",
                 .doc = "Where shard 0 writes metrics.jsonl, and events for TensorBoard below tensorboard; "
                        "metrics of another run are not replaced."},
                {.name = "verbosity",
                 .value = "N",
                 .doc = "2: a line for each block that a worker pushes; 1: no more than 0."},
                {.name = "print_config", .doc = "Prints the resolved configuration and exits."},
                {.name = "validate_config", .doc = "Checks the configuration and exits."},
                {.name = "help_config",
                 .value = "SECTION",
                 .doc = "Explains the options of experiment files, or those of a section, and exits.",
                 .optional = true}},
      .examples = {"ssd-server --config experiment.yaml --shards 0",
                   "ssd-server --config experiment.yaml --shards 0-3 --set cluster.peer_timeout=2m"}};
}

absl::StatusOr<std::pair<int, int>> ParseShards(const std::string& text, int num_shards) {
  const std::vector<std::string> parts = absl::StrSplit(text, '-');
  int first = 0, last = 0;
  const bool is_range = parts.size() <= 2 && absl::SimpleAtoi(parts.front(), &first) &&
                        absl::SimpleAtoi(parts.back(), &last) && 0 <= first && first <= last;
  if (!is_range)
    return absl::InvalidArgumentError(absl::StrCat("--shards: got \"", text, "\", want I or I-J"));
  if (last >= num_shards) {
    return absl::InvalidArgumentError(absl::StrCat("--shards: there is no shard ", last,
                                                   "; the configuration has ", num_shards,
                                                   " (cluster.servers), from 0 to ", num_shards - 1));
  }
  return std::pair(first, last);
}

// One shard with its thread and its port. Members die in the reverse order: the streams, the thread, the
// state.
struct HostedShard {
  std::unique_ptr<Shard> shard;
  std::unique_ptr<ThreadExecutor> executor;
  std::unique_ptr<GrpcServer> server;
};

class ServerProcess {
 public:
  ServerProcess(v1::Experiment experiment, MetricsLog::Options files, MainLoop& loop)
      : experiment_(std::move(experiment)),
        loop_(loop),
        run_log_(Clock::Real(), Disk::Real(), std::move(files)),
        coordinator_(static_cast<int>(experiment_.cluster().workers()), run_log_) {}

  absl::Status Host(int first, int last) {
    {
      MutexLock lock(&mutex_);
      open_ = last - first + 1;
    }
    // All shards are there before the first worker can come.
    for (int i = first; i <= last; ++i) Create(ShardId(i));
    for (int i = first; i <= last; ++i) RETURN_IF_ERROR(Listen(ShardId(i), shards_[i - first]));
    return absl::OkStatus();
  }

  // Ends the run for all shards of this process. Any thread.
  void Stop(const Ending& ending) {
    for (HostedShard& hosted : shards_) {
      hosted.executor->Post([shard = hosted.shard.get(), ending] { shard->Stop(ending); });
    }
  }

  void Shutdown() {
    for (HostedShard& hosted : shards_) {
      if (hosted.server != nullptr) hosted.server->Shutdown(kGrace);
    }
    // What the last streams left on the executors runs before those end.
    for (HostedShard& hosted : shards_) {
      Mutex mutex;
      CondVar done;
      bool ran = false;
      hosted.executor->Post([&] {
        MutexLock lock(&mutex);
        ran = true;
        done.NotifyOne();
      });
      MutexLock lock(&mutex);
      while (!ran) done.Wait(&mutex);
    }
  }

 private:
  void Create(ShardId id) {
    const v1::Cluster& cluster = experiment_.cluster();
    Shard::Options options{.shard = id,
                           .num_shards = static_cast<int>(cluster.servers()),
                           .num_workers = static_cast<int>(cluster.workers()),
                           .deterministic = experiment_.server().deterministic(),
                           .optimizer = MakeTrainingPlan(experiment_, 1).optimizer,
                           .fields = AgreedFields(experiment_),
                           .plan = [this](int64_t samples) { return Plan(samples); },
                           .rendezvous_timeout = absl::Seconds(cluster.rendezvous_timeout()),
                           .peer_timeout = absl::Seconds(cluster.peer_timeout())};
    if (experiment_.server().has_block_size()) options.block_bytes = experiment_.server().block_size();
    HostedShard& hosted = shards_.emplace_back();
    hosted.executor = std::make_unique<ThreadExecutor>(absl::StrCat("shard-", id.value()).c_str());
    hosted.shard = std::make_unique<Shard>(
        std::move(options), *hosted.executor, Clock::Real(), id == ShardId(0) ? &coordinator_ : nullptr,
        [this, id](const v1::Hello& hello) { OnStart(id, hello); },
        [this](const Ending& ending) { OnEnd(ending); });
  }

  absl::Status Listen(ShardId id, HostedShard& hosted) {
    const v1::Cluster& cluster = experiment_.cluster();
    const std::string& address = cluster.addresses(static_cast<int>(id.value()));
    ASSIGN_OR_RETURN(hosted.server, GrpcServer::Start(address, *hosted.shard, *hosted.executor,
                                                      absl::Seconds(cluster.peer_timeout())));
    hosted.executor->Post([shard = hosted.shard.get()] { shard->Start(); });
    LOG(INFO) << "listening shard=" << id << " address=" << address;
    return absl::OkStatus();
  }

  ShardPlan Plan(int64_t samples) const {
    const TrainingPlan plan = MakeTrainingPlan(experiment_, samples);
    return {.schedule = std::make_shared<SyncSchedule>(plan.schedule),
            .learning_rate = std::make_shared<LearningRate>(plan.learning_rate)};
  }

  void OnStart(ShardId id, const v1::Hello& hello) {
    if (id != ShardId(0)) return;
    const TrainingPlan plan = MakeTrainingPlan(experiment_, static_cast<int64_t>(hello.samples_per_epoch()));
    const absl::Status status =
        run_log_.OnStart(hello, plan, static_cast<int>(experiment_.cluster().workers()));
    if (!status.ok()) Stop({.code = kExitStorage, .message = std::string(status.message())});
  }

  // The process's work has ended when all its shards have, or when one of them had to.
  void OnEnd(const Ending& ending) {
    if (ending.code != kExitDone) {
      loop_.End(ending);
      return;
    }
    MutexLock lock(&mutex_);
    if (--open_ == 0) loop_.End(ending);
  }

  const v1::Experiment experiment_;
  MainLoop& loop_;
  RunLog run_log_;
  Coordinator coordinator_;
  std::vector<HostedShard> shards_;
  Mutex mutex_;
  int open_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The results of a run are not overwritten by another's.
absl::Status CheckNoMetrics(const std::string& run_dir) {
  const std::string path = absl::StrCat(run_dir, "/metrics.jsonl");
  if (run_dir.empty() || ::access(path.c_str(), F_OK) != 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": holds the metrics of another run; give this one a --run_dir of its own"));
}

// What of `run_dir` the process `name` writes.
MetricsLog::Options MetricsFiles(const v1::Output& output, const std::string& run_dir,
                                 const std::string& name) {
  MetricsLog::Options files{.source = EventSource::ThisProcess()};
  if (run_dir.empty()) return files;
  files.lines_path = absl::StrCat(run_dir, "/metrics.jsonl");
  if (output.tensorboard()) files.event_directory = absl::StrCat(run_dir, "/tensorboard/", name);
  return files;
}

int Fail(int code, const absl::Status& status) {
  return MainLoop::Report({.code = code, .message = std::string(status.message())});
}

int Main(int argc, char** argv) {
  QuietGrpc();
  QuietProtobuf();
  const CommandLine usage = Usage();
  const absl::StatusOr<ParsedFlags> flags = ParseFlags(usage, argc, argv);
  if (!flags.ok()) return Fail(kExitUsage, flags.status());
  if (flags->IsOn("help")) return std::fputs(HelpText(usage).c_str(), stdout), kExitDone;
  if (flags->IsOn("version")) return std::fputs(VersionText(usage.program).c_str(), stdout), kExitDone;
  if (const std::optional<std::string> about = flags->Value("help_config"); about.has_value()) {
    const absl::StatusOr<std::string> help = ConfigHelp(*about);
    return help.ok() ? (std::fputs(help->c_str(), stdout), kExitDone) : Fail(kExitUsage, help.status());
  }
  const absl::StatusOr<std::optional<int64_t>> verbosity = flags->Integer("verbosity", 0, 2);
  if (!verbosity.ok()) return Fail(kExitUsage, verbosity.status());
  SetVerbosity(static_cast<int>(verbosity->value_or(0)));

  const absl::StatusOr<LoadedExperiment> loaded =
      LoadExperiment(flags->Values("config"), flags->Values("set"), Disk::Real());
  if (!loaded.ok()) return Fail(kExitUsage, loaded.status());
  if (flags->IsOn("print_config")) return std::fputs(PrintConfig(*loaded).c_str(), stdout), kExitDone;
  if (flags->IsOn("validate_config")) return kExitDone;
  const v1::Cluster& cluster = loaded->proto.cluster();
  if (cluster.addresses().empty()) {
    return Fail(kExitUsage,
                absl::InvalidArgumentError("cluster.addresses: says where the shards listen, and is empty"));
  }
  const std::optional<std::string> shards = flags->Value("shards");
  if (!shards.has_value()) return Fail(kExitUsage, absl::InvalidArgumentError("--shards is missing"));
  const auto range = ParseShards(*shards, static_cast<int>(cluster.servers()));
  if (!range.ok()) return Fail(kExitUsage, range.status());
  const std::string name = absl::StrCat("server-", *shards);
  SetLogName(name);
  const std::string run_dir = flags->Value("run_dir").value_or("");
  if (const absl::Status fresh = CheckNoMetrics(run_dir); range->first == 0 && !fresh.ok()) {
    return Fail(kExitUsage, fresh);
  }

  MainLoop loop;
  ServerProcess process(loaded->proto, MetricsFiles(loaded->proto.output(), run_dir, name), loop);
  const absl::Status hosted = process.Host(range->first, range->second);
  if (!hosted.ok()) {
    process.Shutdown();
    return Fail(kExitUsage, hosted);
  }
  const Ending ending = loop.Run([&process](const Ending& asked) { process.Stop(asked); }, kStopGrace);
  process.Stop(ending);  // shards of this process that have not heard of it yet
  process.Shutdown();
  return MainLoop::Report(ending);
}

}  // namespace
}  // namespace ssd

int main(int argc, char** argv) { return ssd::Main(argc, argv); }
