// ssd-worker: trains one replica, or evaluates a model file.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/experiment.h"
#include "common/config/reference.h"
#include "common/config/resnet_plan.h"
#include "common/config/training_plan.h"
#include "common/flags.h"
#include "common/io/disk.h"
#include "common/io/model_file.h"
#include "common/logging.h"
#include "common/main_loop.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "common/wire/grpc_frame.h"
#include "models/initialization.h"
#include "models/registry.h"
#include "worker/data/data_order.h"
#include "worker/data/prefetch.h"
#include "worker/data_set.h"
#include "worker/grpc_shard_channel.h"
#include "worker/stripe_evaluator.h"
#include "worker/trainer.h"
#include "worker/worker_log.h"

namespace ssd {
namespace {

// How long a stopping worker may take: a step under way cannot be cut short.
constexpr absl::Duration kStopGrace = absl::Seconds(20);
// What the farewell has not ended by then is stuck behind a peer that does not read.
constexpr absl::Duration kStreamsGrace = absl::Seconds(1);

CommandLine Usage() {
  return {.program = "ssd-worker",
          .usage = "--config FILE (--worker I | --evaluate MODEL)",
          .description =
              "Trains one replica of a run's model on this machine, or gives the accuracy of a model file. "
              "ssd-run starts it on one machine.",
          .flags = {{.name = "config",
                     .value = "FILE",
                     .doc = "The experiment file; later ones override.",
                     .repeated = true},
                    {.name = "set",
                     .value = "KEY=VALUE",
                     .doc = "Overrides one option: --set optimizer.lr=0.2.",
                     .repeated = true},
                    {.name = "worker", .value = "I", .doc = "Which worker of the run this is, from 0."},
                    {.name = "run_dir",
                     .value = "DIR",
                     .doc = "Where worker 0 writes model.safetensors, and each worker its events for "
                            "TensorBoard, below tensorboard."},
                    {.name = "evaluate",
                     .value = "MODEL",
                     .doc = "Evaluates this safetensors file on the test set and exits."},
                    {.name = "verbosity",
                     .value = "N",
                     .doc = "1 or 2: lines for each attempt to reach a server, step, pull and evaluation."},
                    {.name = "print_config", .doc = "Prints the resolved configuration and exits."},
                    {.name = "validate_config", .doc = "Checks the configuration and exits."},
                    {.name = "help_config",
                     .value = "SECTION",
                     .doc = "Explains the options of experiment files, or those of a section, and exits.",
                     .optional = true}},
          .examples = {"ssd-worker --config experiment.yaml --worker 0 --run_dir runs/mine",
                       "ssd-worker --config experiment.yaml --evaluate model.safetensors"}};
}

Ending Failed(int code, const absl::Status& status) {
  return {.code = code, .message = std::string(status.message())};
}

int Threads(const v1::Experiment& experiment) {
  if (experiment.cluster().has_threads()) return static_cast<int>(experiment.cluster().threads());
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

absl::StatusOr<std::unique_ptr<Model>> NewModel(const v1::Experiment& experiment, const ImageData& data) {
  return MakeModel(MakeResNetSpec(experiment.model()),
                   {.image = data.train.shape,
                    .classes = static_cast<int64_t>(data.train.class_names.size()),
                    .batch_size = experiment.training().batch_size(),
                    .threads = Threads(experiment)});
}

// A model's values in the host's memory, which is what files are read into and written from.
struct HostValues {
  explicit HostValues(const ModelLayout& layout)
      : parameters(layout.parameters.size()), buffers(layout.buffers.size()) {}

  void UploadTo(Model& model) const {
    model.memory().Upload(parameters, model.parameters().data());
    model.memory().Upload(buffers, model.buffers().data());
  }

  std::vector<float> parameters;
  std::vector<float> buffers;
};

// Puts experiment.model.weights, if there are any, in place of the initial values.
Ending LoadWeights(const v1::Model& options, const ModelLayout& layout, HostValues& values) {
  if (options.weights().empty()) return {};
  const absl::StatusOr<MatchReport> report = ReadModel(
      Disk::Real(), options.weights(), layout,
      options.weights_strict() ? Matching::kStrict : Matching::kPartial, values.parameters, values.buffers);
  if (!report.ok()) return Failed(ModelFileExitCode(report.status()), report.status());
  LOG(INFO) << "weights loaded path=" << options.weights() << " tensors=" << report->fitting
            << " of=" << report->wanted;
  for (const std::string& line : report->Differences(/*max_listed=*/50)) LOG(WARNING) << "weights " << line;
  return {};
}

// Everything a training worker is made of. Members die in the reverse order: the thread ends before what it
// works on.
class WorkerProcess {
 public:
  WorkerProcess(v1::Experiment experiment, WorkerId id, std::string run_dir, MainLoop& loop)
      : experiment_(std::move(experiment)), id_(id), run_dir_(std::move(run_dir)), loop_(loop) {}

  // Loads, and begins training, on the executor: the loop hears signals meanwhile, and learns how it ends.
  void Start() {
    executor_.Post([this] {
      if (const Ending ending = Begin(); ending.code != kExitDone) loop_.End(ending);
    });
  }

  // While it loads there is nobody to say goodbye to, and loading cannot be cut short: it is left behind.
  void Stop(const Ending& ending) {
    if (!begun_) {
      abandoned_ = true;
      loop_.End(ending);
      return;
    }
    executor_.Post([this, ending] { client_->End(ending); });
  }

  // After the loop has ended: lets go of the streams. False: some did not end, or loading goes on, and the
  // process must not wait for them.
  bool Shutdown() {
    if (abandoned_ || !begun_) return false;
    executor_.Post([this] {
      trainer_.reset();
      batches_.reset();
      client_.reset();
    });
    return channels_->WaitUntilDone(kStreamsGrace);
  }

 private:
  Ending Begin() {
    absl::StatusOr<ImageData> data = LoadDataSet(experiment_, Disk::Real());
    if (!data.ok()) return Failed(kExitData, data.status());
    data_ = *std::move(data);
    absl::StatusOr<std::unique_ptr<Model>> model = NewModel(experiment_, data_);
    if (!model.ok()) return Failed(kExitInternal, model.status());
    model_ = *std::move(model);
    // All workers do: the weights reach the servers from worker 0, the running statistics are each one's own.
    HostValues values(model_->layout());
    InitializeParameters(model_->layout(), experiment_.seed(), values.parameters, values.buffers);
    Ending loaded = LoadWeights(experiment_.model(), model_->layout(), values);
    if (loaded.code != kExitDone) return loaded;
    values.UploadTo(*model_);

    const TrainingPlan plan = MakeTrainingPlan(experiment_, data_.train.size());
    const auto schedule = std::make_shared<SyncSchedule>(plan.schedule);
    const auto learning_rate = std::make_shared<LearningRate>(plan.learning_rate);
    const v1::Cluster& cluster = experiment_.cluster();
    const std::vector<std::string> addresses(cluster.addresses().begin(), cluster.addresses().end());
    std::optional<int64_t> block_bytes;
    if (experiment_.server().has_block_size()) block_bytes = experiment_.server().block_size();
    const Partition partition(model_->layout(), static_cast<int>(cluster.servers()), block_bytes);

    channels_ =
        std::make_unique<GrpcShardChannels>(addresses, executor_, absl::Seconds(cluster.peer_timeout()));
    client_ = std::make_unique<ParameterClient>(
        ParameterClient::Options{.worker = id_,
                                 .incarnation = Incarnation(absl::ToUnixNanos(Clock::Real().Wall())),
                                 .shard_names = addresses,
                                 .rendezvous_timeout = absl::Seconds(cluster.rendezvous_timeout()),
                                 .peer_timeout = absl::Seconds(cluster.peer_timeout())},
        partition, *channels_, executor_, Clock::Real(), [this](const Ending& ending) { loop_.End(ending); });
    if (plan.local_update.has_value()) {
      local_update_ = std::make_unique<LocalUpdate>(*plan.local_update, partition, schedule, learning_rate,
                                                    model_->memory());
    }
    const DataOrder order({.seed = experiment_.seed(),
                           .samples = data_.train.size(),
                           .workers = cluster.workers(),
                           .batch = experiment_.training().batch_size()});
    batches_ = std::make_unique<PrefetchingBatchSource>(
        data_.train, order,
        PrefetchingBatchSource::Options{.worker = id_,
                                        .augment = experiment_.data().augment(),
                                        .steps = {.first = Step(0), .end = schedule->end()}},
        executor_);
    evaluator_ = std::make_unique<StripeEvaluator>(
        EvaluationStripe(data_.test, id_, cluster.workers(), experiment_.training().batch_size()));
    trainer_ = std::make_unique<Trainer>(Trainer::Options{.worker = id_,
                                                          .samples_per_epoch = data_.train.size(),
                                                          .fields = AgreedFields(experiment_),
                                                          .report_interval = plan.report_interval},
                                         *model_, *batches_, evaluator_.get(), *client_, schedule,
                                         local_update_.get(), Clock::Real());
    if (experiment_.output().tensorboard() && !run_dir_.empty()) {
      log_ = std::make_unique<WorkerLog>(
          Clock::Real(), Disk::Real(),
          MetricsLog::Options{.event_directory = absl::StrCat(run_dir_, "/tensorboard/worker-", id_.value()),
                              .source = EventSource::ThisProcess()},
          plan.steps_per_epoch);
      trainer_->set_on_report([this](const v1::Report& report) { return log_->OnReport(report); });
    }
    if (VlogIsOn(1)) {
      trainer_->set_step_done([](Step step) { VLOG(1) << "step done step=" << step; });
    }
    begun_ = true;
    trainer_->Start([this, steps = plan.schedule.total_steps](std::span<const float> buffers) {
      return Export(buffers, steps);
    });
    return {};
  }

  Ending Export(std::span<const float> buffers, int64_t steps) {
    if (id_ != WorkerId(0) || run_dir_.empty()) return {};
    const std::string path = absl::StrCat(run_dir_, "/model.safetensors");
    std::vector<float> parameters(model_->parameters().size());
    model_->memory().Download(model_->parameters().data(), parameters);
    const absl::Status status = WriteModel(Disk::Real(), path, model_->layout(), parameters, buffers, steps,
                                           {{"ssd.model", v1::Model::Name_Name(experiment_.model().name())},
                                            {"ssd.version", ProgramVersion()},
                                            {"ssd.steps", absl::StrCat(steps)}});
    if (!status.ok()) return Failed(kExitStorage, status);
    LOG(INFO) << "model written path=" << path;
    return {};
  }

  const v1::Experiment experiment_;
  const WorkerId id_;
  const std::string run_dir_;
  MainLoop& loop_;
  ImageData data_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<LocalUpdate> local_update_;
  std::unique_ptr<GrpcShardChannels> channels_;
  std::unique_ptr<ParameterClient> client_;
  std::unique_ptr<BatchSource> batches_;
  std::unique_ptr<WorkerLog> log_;
  std::unique_ptr<Trainer> trainer_;
  bool abandoned_ = false;          // on the main thread: stopped before it had begun
  std::atomic<bool> begun_{false};  // whether all of the above is there
  ThreadExecutor executor_{"trainer"};
};

Ending EvaluateFile(const v1::Experiment& experiment, const std::string& path) {
  const absl::StatusOr<ImageData> data = LoadDataSet(experiment, Disk::Real());
  if (!data.ok()) return Failed(kExitData, data.status());
  absl::StatusOr<std::unique_ptr<Model>> model = NewModel(experiment, *data);
  if (!model.ok()) return Failed(kExitInternal, model.status());
  HostValues values((*model)->layout());
  const absl::Status read =
      ReadModel(Disk::Real(), path, (*model)->layout(), Matching::kStrict, values.parameters, values.buffers)
          .status();
  if (!read.ok()) return Failed(ModelFileExitCode(read), read);
  values.UploadTo(**model);
  StripeEvaluator evaluator(EvaluationStripe(data->test, WorkerId(0), 1, experiment.training().batch_size()));
  const BatchResult result = evaluator.Evaluate(**model, values.buffers);
  std::printf("accuracy %.4f (%lld of %lld), loss %.4f\n",
              static_cast<double>(result.correct) / static_cast<double>(result.samples),
              static_cast<long long>(result.correct), static_cast<long long>(result.samples),
              result.loss / static_cast<double>(result.samples));
  return {};
}

int Main(int argc, char** argv) {
  QuietGrpc();
  QuietProtobuf();
  const CommandLine usage = Usage();
  const auto fail = [](int code, const absl::Status& status) {
    return MainLoop::Report(Failed(code, status));
  };
  const absl::StatusOr<ParsedFlags> flags = ParseFlags(usage, argc, argv);
  if (!flags.ok()) return fail(kExitUsage, flags.status());
  if (flags->IsOn("help")) return std::fputs(HelpText(usage).c_str(), stdout), kExitDone;
  if (flags->IsOn("version")) return std::fputs(VersionText(usage.program).c_str(), stdout), kExitDone;
  if (const std::optional<std::string> about = flags->Value("help_config"); about.has_value()) {
    const absl::StatusOr<std::string> help = ConfigHelp(*about);
    return help.ok() ? (std::fputs(help->c_str(), stdout), kExitDone) : fail(kExitUsage, help.status());
  }
  const absl::Status alone =
      flags->Excludes("evaluate", {"worker", "run_dir", "print_config", "validate_config"});
  if (!alone.ok()) return fail(kExitUsage, alone);
  const absl::StatusOr<std::optional<int64_t>> verbosity = flags->Integer("verbosity", 0, 2);
  if (!verbosity.ok()) return fail(kExitUsage, verbosity.status());
  SetVerbosity(static_cast<int>(verbosity->value_or(0)));

  const absl::StatusOr<LoadedExperiment> loaded =
      LoadExperiment(flags->Values("config"), flags->Values("set"), Disk::Real());
  if (!loaded.ok()) return fail(kExitUsage, loaded.status());
  if (flags->IsOn("print_config")) return std::fputs(PrintConfig(*loaded).c_str(), stdout), kExitDone;
  if (flags->IsOn("validate_config")) return kExitDone;

  if (const std::optional<std::string> file = flags->Value("evaluate"); file.has_value()) {
    const Ending ending = EvaluateFile(loaded->proto, *file);
    return ending.code == kExitDone ? kExitDone : MainLoop::Report(ending);
  }
  const v1::Cluster& cluster = loaded->proto.cluster();
  const absl::StatusOr<std::optional<int64_t>> id = flags->Integer("worker", 0, int64_t{1} << 31);
  if (!id.ok()) return fail(kExitUsage, id.status());
  if (!id->has_value())
    return fail(kExitUsage, absl::InvalidArgumentError("--worker or --evaluate is missing"));
  if (**id >= cluster.workers()) {
    return fail(kExitUsage, absl::InvalidArgumentError(absl::StrCat(
                                "--worker: there is no worker ", **id, "; the configuration has ",
                                cluster.workers(), " (cluster.workers), from 0 to ", cluster.workers() - 1)));
  }
  if (cluster.addresses().empty()) {
    return fail(kExitUsage,
                absl::InvalidArgumentError("cluster.addresses: says where the shards listen, and is empty"));
  }
  SetLogName(absl::StrCat("worker-", **id));

  MainLoop loop;
  WorkerProcess process(loaded->proto, WorkerId(**id), flags->Value("run_dir").value_or(""), loop);
  process.Start();
  const Ending ending = loop.Run([&process](const Ending& asked) { process.Stop(asked); }, kStopGrace);
  const bool clean = process.Shutdown();
  const int code = MainLoop::Report(ending);
  if (!clean) std::_Exit(code);
  return code;
}

}  // namespace
}  // namespace ssd

int main(int argc, char** argv) { return ssd::Main(argc, argv); }
