#include "worker/data/evaluation_stripe.h"

#include <algorithm>
#include <span>

#include "common/logging.h"
#include "worker/data/augment.h"

namespace ssd {

EvaluationStripe::EvaluationStripe(const ImageSet& images, WorkerId worker, int64_t workers,
                                   int64_t batch_size)
    : images_(images),
      first_(worker.value() * images.size() / workers),
      end_((worker.value() + 1) * images.size() / workers),
      batch_size_(batch_size),
      normalizer_(images),
      batch_images_(batch_size * images.shape.size()),
      batch_labels_(batch_size) {
  CHECK(worker.value() >= 0 && worker.value() < workers) << "worker=" << worker << " workers=" << workers;
  CHECK_GE(batch_size, 1);
  batch_.images = batch_images_;
  batch_.labels = batch_labels_;
}

const Batch& EvaluationStripe::Read(int64_t index) {
  CHECK(index >= 0 && index < num_batches()) << "index=" << index << " batches=" << num_batches();
  const int64_t begin = first_ + index * batch_size_;
  const int64_t image_floats = images_.shape.size();
  batch_.valid = std::min(batch_size_, end_ - begin);
  for (int64_t i = 0; i < batch_.valid; ++i) {
    normalizer_.Write(images_.image(begin + i), Augmentation(),
                      std::span<float>(batch_images_).subspan(i * image_floats, image_floats));
    batch_labels_[i] = images_.labels[begin + i];
  }
  std::fill(batch_images_.begin() + batch_.valid * image_floats, batch_images_.end(), 0.0f);
  std::fill(batch_labels_.begin() + batch_.valid, batch_labels_.end(), 0);
  return batch_;
}

}  // namespace ssd
