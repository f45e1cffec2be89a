// The experiment loader: YAML, keys, values, --set, needs and validation.
//
// The input is experiment files, each beginning at a line "# file" but the first; a line "# set KEY=VALUE" is a setting
// of --set, and a comment to the loader. What loads can be printed, the print loads to the same experiment, and the cores
// take it, whatever the number of samples; what does not is InvalidArgument with lines of printable text.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/config/experiment.h"
#include "common/config/text_check.h"
#include "common/config/training_plan.h"
#include "tests/fuzz/property.h"
#include "tests/io/memory_disk.h"

namespace ssd {
namespace {

struct Input {
  MemoryDisk disk;
  std::vector<std::string> files;
  std::vector<std::string> settings;
};

Input Read(absl::string_view text) {
  constexpr size_t kMaxFiles = 3, kMaxSettings = 16;
  Input input;
  const auto begin_file = [&input] {
    input.files.push_back(absl::StrCat(input.files.size(), ".yaml"));
    input.disk.files[input.files.back()];
  };
  begin_file();
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line == "# file" && input.files.size() < kMaxFiles) {
      begin_file();
      continue;
    }
    absl::string_view setting = line;
    if (absl::ConsumePrefix(&setting, "# set ") && input.settings.size() < kMaxSettings) {
      input.settings.emplace_back(setting);
    }
    absl::StrAppend(&input.disk.files[input.files.back()], line, "\n");
  }
  return input;
}

// Every option's text: two experiments are the same when these are.
std::string Describe(const LoadedExperiment& loaded) {
  std::string text;
  for (const auto& [name, value] : AgreedFields(loaded.proto)) absl::StrAppend(&text, name, "=", value, "\n");
  return text;
}

// The schedules of the first steps and the last, for who has few samples and for who has very many.
void CheckPlan(const v1::Experiment& experiment) {
  for (const int64_t samples : {int64_t{1}, int64_t{50'000}, int64_t{1} << 40}) {
    const TrainingPlan plan = MakeTrainingPlan(experiment, samples);
    const SyncSchedule schedule(plan.schedule);
    const LearningRate rate(plan.learning_rate);
    SSD_PROPERTY(schedule.end() >= Step(1));
    SSD_PROPERTY(plan.report_interval >= 1);
    const Step last = schedule.end() - 1;
    for (const Step step : {Step(0), Step(last.value() / 2), last}) {
      SSD_PROPERTY(rate.At(step) >= 0);
      SSD_PROPERTY(!schedule.PushAfter(step, BlockId(0)).has_value() ||
                   schedule.PushAfter(step, BlockId(0))->end == step + 1);
    }
    SSD_PROPERTY(schedule.IsPulled(schedule.last_version(), BlockId(0)));
  }
}

void CheckErrors(const absl::Status& status) {
  SSD_PROPERTY(status.code() == absl::StatusCode::kInvalidArgument);
  SSD_PROPERTY(!status.message().empty());
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    const std::optional<TextFault> fault = FindTextFault(line, /*multiline=*/false);
    SSD_PROPERTY(!fault.has_value()) << fault->what << " in an error: " << line;
  }
}

void Check(absl::string_view text) {
  Input input = Read(text);
  const absl::StatusOr<LoadedExperiment> loaded = LoadExperiment(input.files, input.settings, input.disk);
  if (!loaded.ok()) return CheckErrors(loaded.status());

  const std::string printed = PrintConfig(*loaded);
  const absl::StatusOr<LoadedExperiment> again = LoadExperimentText("printed.yaml", printed, {});
  SSD_PROPERTY(again.ok()) << again.status().ToString() << '\n' << printed;
  SSD_PROPERTY(Describe(*again) == Describe(*loaded)) << printed;
  SSD_PROPERTY(again->proto.SerializeAsString() == loaded->proto.SerializeAsString()) << printed;
  CheckPlan(loaded->proto);
}

}  // namespace
}  // namespace ssd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ssd::Check(ssd::TextOf(data, size));
  return 0;
}
