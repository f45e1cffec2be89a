// Which options have an effect beside which others (FieldRules.needs in the schema).
#ifndef SSD_COMMON_CONFIG_APPLICABILITY_H_
#define SSD_COMMON_CONFIG_APPLICABILITY_H_

#include "common/config/error_list.h"
#include "common/config/loaded_experiment.h"
#include "common/config/schema.h"

namespace ssd {

// The first of the option's needs that the experiment does not meet; null where it has its effect.
const Need* UnmetNeed(const Option& option, const v1::Experiment& experiment);

// Refuses options that were given and have no effect, unless a later layer than theirs is what took the
// effect away: with
// --set sync.policy=ssgd on top of a file, the file's `sync.k` is set aside and has its default again.
void ApplyNeeds(LoadedExperiment* loaded, ErrorList* errors);

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_APPLICABILITY_H_
