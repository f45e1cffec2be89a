#include "common/config/experiment.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/config/applicability.h"
#include "common/config/error_list.h"
#include "common/config/schema.h"
#include "common/config/validation.h"
#include "common/config/value.h"
#include "common/config/yaml_loader.h"

namespace ssd {
namespace {

// Adds --set on top of the files' layers, and checks the whole.
absl::StatusOr<LoadedExperiment> Finish(LoadedExperiment loaded, std::span<const std::string> overrides,
                                        int layer, ErrorList* errors) {
  for (const std::string& setting : overrides) ApplyOverride(setting, layer, &loaded, errors);
  ApplyNeeds(&loaded, errors);
  ValidateExperiment(loaded, errors);
  if (!errors->empty()) return errors->ToStatus();
  return loaded;
}

}  // namespace

absl::StatusOr<LoadedExperiment> LoadExperiment(std::span<const std::string> files,
                                                std::span<const std::string> overrides, Disk& disk) {
  LoadedExperiment loaded = DefaultExperiment();
  ErrorList errors;
  int layer = 0;
  for (const std::string& file : files) {
    ++layer;
    const absl::StatusOr<std::string> text = disk.ReadFile(file);
    if (text.ok()) {
      ApplyYaml(file, *text, layer, &loaded, &errors);
    } else {
      errors.Add(file, std::string(absl::StripPrefix(text.status().message(), absl::StrCat(file, ": "))));
    }
  }
  return Finish(std::move(loaded), overrides, layer + 1, &errors);
}

absl::StatusOr<LoadedExperiment> LoadExperimentText(const std::string& name, const std::string& text,
                                                    std::span<const std::string> overrides) {
  LoadedExperiment loaded = DefaultExperiment();
  ErrorList errors;
  ApplyYaml(name, text, /*layer=*/1, &loaded, &errors);
  return Finish(std::move(loaded), overrides, /*layer=*/2, &errors);
}

std::string PrintConfig(const LoadedExperiment& loaded) {
  std::string text;
  std::vector<const google::protobuf::FieldDescriptor*> open;  // the sections whose headings are printed
  for (const Option& option : Options()) {
    for (size_t depth = 0; depth < option.sections.size(); ++depth) {
      if (depth < open.size() && open[depth] == option.sections[depth]) continue;
      open.resize(depth);
      open.push_back(option.sections[depth]);
      absl::StrAppend(&text, std::string(2 * depth, ' '), option.sections[depth]->name(), ":\n");
    }
    open.resize(option.sections.size());
    const Need* const unmet = UnmetNeed(option, loaded.proto);
    absl::StrAppend(&text, std::string(2 * open.size(), ' '), unmet != nullptr ? "# " : "",
                    option.field->name(), ": ", FormatValue(option, option.Parent(loaded.proto)), "  # ",
                    loaded.origins.at(option.path).label,
                    unmet != nullptr ? absl::StrCat(", not used with this ", unmet->option) : "", "\n");
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> AgreedFields(const v1::Experiment& experiment) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (const Option& option : Options()) {
    if (!option.rules().local())
      fields.emplace_back(option.path, FormatValue(option, option.Parent(experiment)));
  }
  return fields;
}

int64_t ResolveSteps(const v1::TrainingTime& time, double steps_per_epoch) {
  if (!time.has_epochs()) return time.iterations();
  const double steps = time.epochs() * steps_per_epoch;
  return static_cast<int64_t>(std::ceil(std::max(0.0, steps - 1e-9)));
}

}  // namespace ssd
