#include "worker/data/training_batches.h"

#include "common/logging.h"
#include "worker/data/augment.h"

namespace ssd {

TrainingBatches::TrainingBatches(const ImageSet& images, const DataOrder& order, WorkerId worker,
                                 bool augment)
    : images_(images), worker_(worker), augment_(augment), normalizer_(images), order_(order) {
  CHECK_EQ(order.options().samples, images.size());
  CHECK(worker.value() >= 0 && worker.value() < order.options().workers) << "worker=" << worker;
}

void TrainingBatches::Make(Step step, std::span<float> images, std::span<int32_t> labels) {
  CHECK_EQ(static_cast<int64_t>(images.size()), batch_floats());
  CHECK_EQ(static_cast<int64_t>(labels.size()), batch_size());
  const int64_t image_floats = normalizer_.shape().size();
  const int64_t first = order_.FirstPosition(step, worker_);
  for (int64_t i = 0; i < batch_size(); ++i) {
    const int64_t position = first + i;
    const int32_t sample = order_.SampleAt(position);
    const Augmentation augmentation =
        augment_ ? DrawAugmentation(order_.options().seed, position) : Augmentation();
    normalizer_.Write(images_.image(sample), augmentation, images.subspan(i * image_floats, image_floats));
    labels[i] = images_.labels[sample];
  }
}

}  // namespace ssd
