#include "worker/data_set.h"

#include <string>

#include "common/status_macros.h"
#include "worker/data/cifar10.h"
#include "worker/data/shapes.h"

namespace ssd {

absl::StatusOr<ImageData> LoadDataSet(const v1::Experiment& experiment, Disk& disk) {
  const v1::Data& data = experiment.data();
  if (data.dataset() == v1::Data::shapes) {
    return MakeShapes(experiment.seed(), data.shapes_train(), data.shapes_test());
  }
  ASSIGN_OR_RETURN(const std::string directory, ResolveDataPath(data.path()));
  return LoadCifar10(directory, disk);
}

}  // namespace ssd
