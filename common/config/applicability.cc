#include "common/config/applicability.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/value.h"
#include "common/logging.h"

namespace ssd {
namespace {

using google::protobuf::Message;

std::string ValueOf(const std::string& path, const v1::Experiment& experiment) {
  const Option& option = *FindOption(path);
  return FormatValue(option, option.Parent(experiment));
}

void RestoreDefault(const Option& option, LoadedExperiment* loaded) {
  Message* const parent = option.MutableParent(&loaded->proto);
  parent->GetReflection()->ClearField(parent, option.field);
  if (!option.field->is_repeated()) {
    CHECK_OK(ParseValue(option, option.rules().default_(), /*quoted=*/false, parent));
  }
  auto& origins = loaded->origins;
  for (auto it = origins.begin(); it != origins.end();) {
    it = absl::StartsWith(it->first, absl::StrCat(option.path, "[")) ? origins.erase(it) : std::next(it);
  }
  origins[option.path] = Origin();
}

}  // namespace

const Need* UnmetNeed(const Option& option, const v1::Experiment& experiment) {
  for (const Need& need : option.needs) {
    const std::string value = ValueOf(need.option, experiment);
    if (std::find(need.values.begin(), need.values.end(), value) == need.values.end()) return &need;
  }
  return nullptr;
}

void ApplyNeeds(LoadedExperiment* loaded, ErrorList* errors) {
  for (const Option& option : Options()) {
    const Origin origin = loaded->origins.at(option.path);
    const Need* const unmet = UnmetNeed(option, loaded->proto);
    if (unmet == nullptr || !origin.given() || errors->HasErrorFor(unmet->option)) continue;
    const Origin& cause = loaded->origins.at(unmet->option);
    if (cause.layer > origin.layer) {
      RestoreDefault(option, loaded);
      continue;
    }
    errors->AddFor(option.path, origin.place,
                   absl::StrCat(option.path, " has no effect with ", unmet->option, ": ",
                                ValueOf(unmet->option, loaded->proto), " (", cause.label, "); it needs ",
                                unmet->option, ": ", unmet->Alternatives()));
  }
}

}  // namespace ssd
