#include "deploy/run/launch.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/config/experiment.h"
#include "common/exit_code.h"
#include "common/io/disk.h"
#include "common/status_macros.h"
#include "deploy/run/banner.h"
#include "deploy/run/display.h"
#include "deploy/run/exit_meaning.h"
#include "deploy/run/local_addresses.h"
#include "deploy/run/log_tail.h"
#include "deploy/run/metrics_tail.h"
#include "deploy/run/process_group.h"
#include "deploy/run/report.h"
#include "deploy/run/run_directory.h"
#include "deploy/run/run_plan.h"

namespace ssd {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(200);  // how late the display may be

absl::StatusOr<std::string> FindProgram(const std::string& folder, const std::string& name) {
  const std::string path = absl::StrCat(folder, "/", name);
  if (::access(path.c_str(), X_OK) == 0) return path;
  return absl::FailedPreconditionError(absl::StrCat(path, ": there is no such program; ssd-run needs ", name,
                                                    " beside itself (build the target ", name, ")"));
}

// Whether these are sockets that an ssd-run made for its own run: what config.resolved.yaml names. They are
// never used again, as that run may still be alive, and a worker of this one would join it.
bool AreOfAnotherRun(const v1::Cluster& cluster) {
  return !cluster.addresses().empty() &&
         std::all_of(cluster.addresses().begin(), cluster.addresses().end(), IsInSocketDirectory);
}

// Shows what happens, and keeps it for the report.
class Narrator : public GroupObserver {
 public:
  Narrator(RunResult* result, const v1::Cluster& cluster, Display* display, const Clock& clock)
      : result_(result),
        num_servers_(static_cast<int>(cluster.servers())),
        ready_deadline_(clock.Steady() + absl::Seconds(cluster.rendezvous_timeout())),
        display_(display),
        clock_(clock),
        started_(clock.Steady()),
        tail_(absl::StrCat(result->directory, "/metrics.jsonl")) {}

  void Tick() override {
    for (const MetricsRecord& record : tail_.Poll()) {
      run_started_ = true;
      display_->Show(record, Elapsed());
    }
    display_->Refresh(Elapsed());
  }

  // A server that never listens is named by the workers, which wait for it in vain.
  bool ServersAreReady() override {
    while (num_ready_ < num_servers_ && IsReady(num_ready_)) ++num_ready_;
    return num_ready_ == num_servers_ || clock_.Steady() >= ready_deadline_;
  }

  bool RunHasStarted() override { return run_started_; }

  void ChildEnded(const ChildEnding& ending) override {
    result_->endings.push_back(ending);
    if (ending.code == kExitDone || stopping_) return;
    const bool is_first = !failed_;
    failed_ = true;
    display_->Error(absl::StrCat(result_->children[ending.child], " ended with exit code ", ending.code, ", ",
                                 ExitMeaning(ending.code),
                                 !is_first      ? ""
                                 : run_started_ ? "; the others have time to end by themselves"
                                                : "; the run has not started"));
  }

  void Acted(const Supervisor::Action& action, int received) override {
    stopping_ = true;
    const std::string whom =
        absl::StrCat(action.children.size(), action.children.size() == 1 ? " process" : " processes");
    if (action.signal == SIGKILL) {
      display_->Error(absl::StrCat("killing ", whom));
    } else if (received == SIGINT) {
      display_->Error(absl::StrCat("interrupted: ", whom, " asked to end; once more kills"));
    } else if (received != 0) {
      display_->Error(absl::StrCat("terminated: ", whom, " asked to end"));
    } else {
      display_->Error(absl::StrCat("stopping ", whom, run_started_ ? " that did not end" : ""));
    }
  }

  absl::Duration Elapsed() const { return clock_.Steady() - started_; }

 private:
  bool IsReady(int server) const {
    for (const ChildEnding& ending : result_->endings) {
      if (ending.child == server) return true;  // and if it failed, no worker is started
    }
    return SaysListening(LogPath(result_->directory, result_->children[server]));
  }

  RunResult* const result_;
  const int num_servers_;
  const absl::Duration ready_deadline_;
  Display* const display_;
  const Clock& clock_;
  const absl::Duration started_;
  MetricsTail tail_;
  int num_ready_ = 0;         // servers [0, num_ready_) listen
  bool run_started_ = false;  // metrics.jsonl has its first line
  bool failed_ = false;
  bool stopping_ = false;
};

class Launcher {
 public:
  explicit Launcher(const LaunchOptions& options) : options_(options), experiment_(options.experiment) {}

  // All that can fail before a child runs.
  absl::Status Prepare() {
    ASSIGN_OR_RETURN(programs_, FindPrograms());
    ASSIGN_OR_RETURN(plan_, MakeRunPlan(experiment_.proto, std::thread::hardware_concurrency()));
    RETURN_IF_ERROR(ChooseAddresses());
    experiment_.proto.mutable_cluster()->set_threads(plan_.threads);
    experiment_.origins["cluster.threads"].label = "ssd-run";

    const v1::Experiment& proto = experiment_.proto;
    ASSIGN_OR_RETURN(result_.directory, CreateRunDirectory(proto.output().directory(), proto.name()));
    result_.name = proto.name();
    result_.seed = proto.seed();
    result_.command = options_.command;
    result_.overrides = options_.overrides;
    for (int i = 0; i < proto.cluster().servers(); ++i)
      result_.children.push_back(absl::StrCat("server-", i));
    for (int i = 0; i < proto.cluster().workers(); ++i)
      result_.children.push_back(absl::StrCat("worker-", i));
    RETURN_IF_ERROR(Disk::Real().WriteWhole(ConfigPath(), PrintConfig(experiment_)));
    ASSIGN_OR_RETURN(group_, ProcessGroup::Create(Clock::Real()));
    return absl::OkStatus();
  }

  int Run() {
    Display display(Display::OptionsFromEnvironment());
    if (!note_.empty()) display.Line(note_);
    display.Line(RenderBanner(experiment_.proto, plan_, options_.weights, result_.directory));
    Narrator narrator(&result_, experiment_.proto.cluster(), &display, Clock::Real());
    const absl::StatusOr<Supervisor::Outcome> outcome = RunChildren(&narrator);
    if (outcome.ok()) {
      result_.outcome = *outcome;
    } else {
      result_.start_error = std::string(outcome.status().message());
      result_.outcome.code = ExitCodeOf(outcome.status());
    }
    group_.reset();  // kills those that did start where another could not
    result_.wall = narrator.Elapsed();
    result_.train = display.progress().train;
    result_.test = display.progress().test;
    return Finish(&display);
  }

 private:
  std::string ConfigPath() const { return absl::StrCat(result_.directory, "/config.resolved.yaml"); }

  absl::Status ChooseAddresses() {
    v1::Cluster& cluster = *experiment_.proto.mutable_cluster();
    const bool is_of_another_run = AreOfAnotherRun(cluster);
    if (!cluster.addresses().empty() && !options_.transport.has_value() && !is_of_another_run)
      return absl::OkStatus();
    if (is_of_another_run && !options_.transport.has_value()) {
      note_ =
          "note: cluster.addresses names sockets that ssd-run made for another run; this run gets new ones";
    }
    std::vector<std::string> addresses;
    const int servers = static_cast<int>(cluster.servers());
    if (options_.transport.value_or(Transport::kUnix) == Transport::kUnix) {
      ASSIGN_OR_RETURN(SocketDirectory sockets, SocketDirectory::Create(servers));
      sockets_ = std::make_unique<SocketDirectory>(std::move(sockets));
      addresses = sockets_->Addresses();
    } else {
      ASSIGN_OR_RETURN(addresses, FreeTcpAddresses(servers));
    }
    cluster.mutable_addresses()->Assign(addresses.begin(), addresses.end());
    experiment_.origins["cluster.addresses"].label = "ssd-run";
    return absl::OkStatus();
  }

  // The workers come when all servers listen: a server that cannot ends the run before a worker could meet
  // somebody else's at its address.
  absl::StatusOr<Supervisor::Outcome> RunChildren(GroupObserver* observer) {
    const v1::Cluster& cluster = experiment_.proto.cluster();
    for (int i = 0; i < cluster.servers(); ++i) {
      RETURN_IF_ERROR(
          group_->Start(CommandFor(programs_.server, "--shards", i, absl::StrCat("server-", i), {})));
    }
    // Passive waiting: the threads of several workers on one machine would otherwise spin against each other.
    const std::map<std::string, std::string> environment = {{"OMP_NUM_THREADS", absl::StrCat(plan_.threads)},
                                                            {"OMP_WAIT_POLICY", "passive"},
                                                            {"OMP_PROC_BIND", "false"}};
    for (int i = 0; i < cluster.workers(); ++i) {
      group_->StartLater(
          CommandFor(programs_.worker, "--worker", i, absl::StrCat("worker-", i), environment));
    }
    return group_->Run({.num_servers = static_cast<int>(cluster.servers()),
                        .num_workers = static_cast<int>(cluster.workers()),
                        .peer_timeout = absl::Seconds(cluster.peer_timeout())},
                       kTick, *observer);
  }

  Command CommandFor(const std::string& program, const std::string& flag, int index, const std::string& name,
                     const std::map<std::string, std::string>& environment) const {
    return {.arguments = {program, "--config", ConfigPath(), flag, absl::StrCat(index), "--run_dir",
                          result_.directory},
            .environment = environment,
            .log_path = LogPath(result_.directory, name)};
  }

  // Tells the end, and returns the exit code.
  int Finish(Display* display) {
    const std::string model = absl::StrCat(result_.directory, "/model.safetensors");
    std::error_code ignored;
    if (std::filesystem::exists(model, ignored)) result_.model_path = model;
    display->ClearBar();
    if (const std::string failure = RenderFailure(result_); !failure.empty()) display->Error(failure);
    display->Line(RenderResult(result_, options_.command[0]));
    const absl::Status written =
        Disk::Real().WriteWhole(absl::StrCat(result_.directory, "/summary.json"), SummaryJson(result_));
    if (written.ok()) return result_.outcome.code;
    display->Error(absl::StrCat("error: ", std::string(written.message())));
    return result_.outcome.code == kExitDone ? ExitCodeOf(written) : result_.outcome.code;
  }

  const LaunchOptions& options_;
  LoadedExperiment experiment_;  // with addresses and threads
  Programs programs_;
  RunPlan plan_;
  std::string note_;
  std::unique_ptr<SocketDirectory> sockets_;  // outlives the children
  RunResult result_;
  std::unique_ptr<ProcessGroup> group_;
};

}  // namespace

absl::StatusOr<Programs> FindPrograms() {
  std::error_code error;
  const std::string folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (error) return absl::InternalError(absl::StrCat("/proc/self/exe: ", error.message()));
  Programs programs;
  ASSIGN_OR_RETURN(programs.server, FindProgram(folder, "ssd-server"));
  ASSIGN_OR_RETURN(programs.worker, FindProgram(folder, "ssd-worker"));
  return programs;
}

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
      return kExitUsage;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kUnknown:  // what Disk says of the rest
      return kExitStorage;
    default:
      return kExitInternal;
  }
}

int Launch(const LaunchOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);  // whoever reads the output may leave; the run goes on
  ::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is told by write, like a full disk
  Launcher launcher(options);
  if (const absl::Status prepared = launcher.Prepare(); !prepared.ok()) {
    Display(Display::OptionsFromEnvironment())
        .Error(absl::StrCat("error: ", std::string(prepared.message())));
    return ExitCodeOf(prepared);
  }
  return launcher.Run();
}

}  // namespace ssd
