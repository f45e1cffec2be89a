// ssd-run: a whole cluster on one machine, from one experiment file.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config/experiment.h"
#include "common/config/json_schema.h"
#include "common/config/reference.h"
#include "common/exit_code.h"
#include "common/flags.h"
#include "common/io/disk.h"
#include "common/io/errno_status.h"
#include "common/io/model_file.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "deploy/run/initial_weights.h"
#include "deploy/run/launch.h"
#include "deploy/run/page/report_page.h"
#include "deploy/run/page/run_record.h"
#include "worker/data/cifar10.h"

namespace ssd {

extern const char kQuickstartExperiment[];  // deploy/experiments/quickstart.yaml, embedded by CMake

namespace {

CommandLine Declare() {
  CommandLine line{
      .program = "ssd-run",
      .usage = "[flags] experiment.yaml [more.yaml ...] | --report RUN...",
      .description =
          "Trains on this machine: starts the servers and workers of an experiment as processes, "
          "shows their progress, and keeps logs, metrics and the model in a new folder, "
          "<output.directory>/<name>/NNN. Of several files the later ones win."};
  line.flags = {
      {.name = "set",
       .value = "KEY=VALUE",
       .doc = "Changes one option of the experiment, such as sync.k=8. The last one wins.",
       .repeated = true,
       .group = "Experiment"},
      {.name = "print_config",
       .doc = "Prints all options with their values and origins, and exits.",
       .group = "Experiment"},
      {.name = "validate_config", .doc = "Checks the experiment and exits.", .group = "Experiment"},
      {.name = "help_config",
       .value = "SECTION",
       .doc = "Explains the options of experiment files, or those of a section, and exits.",
       .optional = true,
       .group = "Experiment"},
      {.name = "print_schema",
       .doc = "Prints the JSON Schema of experiment files, for editors and validators, and exits.",
       .group = "Experiment"},
      {.name = "quickstart",
       .doc = "Runs the built-in first experiment, about two minutes on two cores, with nothing to download.",
       .group = "Running"},
      {.name = "transport",
       .value = "unix|tcp",
       .doc = "How the processes reach each other: unix sockets, or free ports on 127.0.0.1. Replaces "
              "cluster.addresses. "
              "Without it cluster.addresses holds, or unix where that is empty.",
       .group = "Running"},
      {.name = "evaluate",
       .value = "MODEL",
       .doc = "Evaluates a model file on the test set and exits. The experiment is the given one, or the "
              "config.resolved.yaml beside the model.",
       .group = "Running"},
      {.name = "report",
       .doc = "Draws the runs whose folders are given, finished or not, on one HTML page, and exits.",
       .group = "Looking at runs"},
      {.name = "output",
       .value = "FILE",
       .doc = "Where the page goes; one that is there is replaced. Without it report.html, in the run's "
              "folder, or of "
              "several runs here.",
       .group = "Looking at runs"}};
  line.examples = {
      "ssd-run --quickstart",
      "ssd-run deploy/experiments/cifar10_resnet20_ssd.yaml --set sync.k=8  # one option changed",
      "ssd-run --evaluate runs/quickstart/001/model.safetensors",
      "ssd-run --print_config experiment.yaml  # what would run",
      "ssd-run --report runs/ssgd/001 runs/ssd/001 --output compared.html",
      "ssd-run --help_config=sync  # the options of one section"};
  line.max_positional = -1;
  return line;
}

int Fail(const std::string& message, int code) {
  std::fprintf(stderr, "ssd-run: %s\n", message.c_str());
  return code;
}

// What was asked for, on standard output. Returns the exit code.
int Print(const std::string& text) {
  const bool printed = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  return printed ? kExitDone
                 : Fail(absl::StrCat("standard output: cannot write: ", ErrnoText(errno)), kExitStorage);
}

absl::StatusOr<LoadedExperiment> Load(const ParsedFlags& flags) {
  if (flags.IsOn("quickstart")) {
    return LoadExperimentText("quickstart.yaml (built in)", kQuickstartExperiment, flags.Values("set"));
  }
  return LoadExperiment(flags.positional(), flags.Values("set"), Disk::Real());
}

absl::StatusOr<std::optional<Transport>> ParseTransport(const ParsedFlags& flags) {
  const std::optional<std::string> value = flags.Value("transport");
  if (!value.has_value()) return std::optional<Transport>();
  if (*value == "unix") return std::optional<Transport>(Transport::kUnix);
  if (*value == "tcp") return std::optional<Transport>(Transport::kTcp);
  return absl::InvalidArgumentError(absl::StrCat("--transport: got \"", *value, "\", want unix or tcp"));
}

// What every worker would find missing, told once and before anything starts.
absl::Status CheckData(const v1::Experiment& experiment) {
  if (experiment.data().dataset() != v1::Data::cifar10) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string directory, ResolveDataPath(experiment.data().path()));
  return CheckCifar10(directory);
}

// Becomes ssd-worker, so that its output and exit code are this program's.
int Evaluate(const ParsedFlags& flags) {
  const absl::Status alone =
      flags.Excludes("evaluate", {"quickstart", "transport", "print_config", "validate_config"});
  if (!alone.ok()) return Fail(std::string(alone.message()), kExitUsage);
  const std::string model = *flags.Value("evaluate");
  std::vector<std::string> configs = flags.positional();
  if (configs.size() > 1)
    return Fail("--evaluate takes one experiment, or the one beside the model", kExitUsage);
  if (configs.empty()) {
    const size_t slash = model.rfind('/');
    configs = {(slash == std::string::npos ? "" : model.substr(0, slash + 1)) + "config.resolved.yaml"};
    if (::access(configs[0].c_str(), R_OK) != 0) {
      return Fail(absl::StrCat(configs[0], ": ", ErrnoText(errno),
                               "; without an experiment beside the model, name one: ssd-run --evaluate ",
                               model, " experiment.yaml"),
                  kExitUsage);
    }
  }
  const absl::StatusOr<Programs> programs = FindPrograms();
  if (!programs.ok()) return Fail(std::string(programs.status().message()), ExitCodeOf(programs.status()));
  std::vector<std::string> arguments = {programs->worker, "--config", configs[0], "--evaluate", model};
  // A run's own file says which part of the cores one of its workers got; an evaluation has the machine.
  if (absl::EndsWith(configs[0], "config.resolved.yaml"))
    arguments.insert(arguments.end(), {"--set", "cluster.threads=auto"});
  for (const std::string& setting : flags.Values("set"))
    arguments.insert(arguments.end(), {"--set", setting});
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is no other thread.
  ::setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0);
  ::execv(pointers[0], pointers.data());
  return Fail(absl::StrCat(programs->worker, ": cannot be run: ", ErrnoText(errno)), kExitUsage);
}

int Report(const ParsedFlags& flags) {
  const absl::Status alone = flags.Excludes(
      "report", {"set", "quickstart", "transport", "evaluate", "print_config", "validate_config"});
  if (!alone.ok()) return Fail(std::string(alone.message()), kExitUsage);
  if (flags.positional().empty())
    return Fail("--report: no run given; name its folder, such as runs/quickstart/001", kExitUsage);
  std::vector<RunRecord> runs;
  for (const std::string& folder : flags.positional()) {
    absl::StatusOr<RunRecord> run = ReadRunRecord(folder, Disk::Real());
    if (!run.ok()) return Fail(std::string(run.status().message()), kExitUsage);
    runs.push_back(*std::move(run));
  }
  LabelRuns(runs);
  const std::string in_run = absl::StrCat(runs[0].folder, "/report.html");
  const std::string path = flags.Value("output").value_or(runs.size() == 1 ? in_run : "report.html");
  const absl::Status written = Disk::Real().WriteWhole(path, RenderReportPage(runs));
  if (!written.ok()) return Fail(std::string(written.message()), kExitStorage);
  return Print(absl::StrCat("report      ", path, "\n"));
}

int Main(int argc, char** argv) {
  const CommandLine line = Declare();
  const absl::StatusOr<ParsedFlags> flags = ParseFlags(line, argc, argv);
  if (!flags.ok()) return Fail(std::string(flags.status().message()), kExitUsage);
  if (flags->IsOn("help")) return Print(HelpText(line));
  if (flags->IsOn("version")) return Print(VersionText("ssd-run"));
  if (flags->IsOn("report")) return Report(*flags);
  if (flags->Has("output"))
    return Fail("--output is where --report writes, and that is not given", kExitUsage);
  if (flags->Has("help_config")) {
    const absl::StatusOr<std::string> help = ConfigHelp(*flags->Value("help_config"));
    return help.ok() ? Print(*help) : Fail(std::string(help.status().message()), kExitUsage);
  }
  if (flags->IsOn("print_schema")) return Print(ExperimentJsonSchema());
  if (flags->Has("evaluate")) return Evaluate(*flags);
  if (flags->positional().empty() != flags->IsOn("quickstart")) {
    const bool nothing = flags->positional().empty();
    return Fail(absl::StrCat(nothing ? "no experiment given" : "--quickstart takes no experiment file",
                             "\nusage: ", line.program, " ", line.usage,
                             "\n       ssd-run --quickstart\nssd-run --help explains all flags"),
                kExitUsage);
  }
  const absl::StatusOr<LoadedExperiment> experiment = Load(*flags);
  if (!experiment.ok()) {
    std::fprintf(stderr, "%s\n", std::string(experiment.status().message()).c_str());
    return kExitUsage;
  }
  const absl::StatusOr<std::optional<Transport>> transport = ParseTransport(*flags);
  if (!transport.ok()) return Fail(std::string(transport.status().message()), kExitUsage);
  if (flags->IsOn("print_config")) return Print(PrintConfig(*experiment));
  if (flags->IsOn("validate_config")) return Print(absl::StrCat(experiment->proto.name(), ": valid\n"));
  if (const absl::Status data = CheckData(experiment->proto); !data.ok()) {
    return Fail(std::string(data.message()), kExitData);
  }
  const absl::StatusOr<std::vector<std::string>> weights =
      CheckInitialWeights(experiment->proto, Disk::Real());
  if (!weights.ok())
    return Fail(std::string(weights.status().message()), ModelFileExitCode(weights.status()));
  return Launch({.experiment = *experiment,
                 .overrides = flags->Values("set"),
                 .command = std::vector<std::string>(argv, argv + argc),
                 .weights = *weights,
                 .transport = *transport});
}

}  // namespace
}  // namespace ssd

int main(int argc, char** argv) { return ssd::Main(argc, argv); }
