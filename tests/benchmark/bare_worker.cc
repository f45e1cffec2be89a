#include "tests/benchmark/bare_worker.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/resnet_spec.h"
#include "common/status_macros.h"
#include "models/cpu/device.h"
#include "models/initialization.h"
#include "tests/testing/deterministic.h"
#include "tests/testing/train_now.h"

namespace ssd::benchmarks {
namespace {

ModelOptions OptionsFor(const ResNetSpec& spec, int64_t batch, int threads) {
  const bool image_net = spec.stem == ResNetSpec::Stem::kImageNet;
  return {.image = image_net ? ImageShape{224, 224, 3} : ImageShape{32, 32, 3},
          .classes = image_net ? 1000 : 10,
          .batch_size = batch,
          .threads = threads};
}

}  // namespace

absl::StatusOr<std::unique_ptr<BareWorker>> BareWorker::Make(absl::string_view model, int64_t batch,
                                                             int threads) {
  return Make(model, batch, threads, MakeCpuDevice);
}

absl::StatusOr<std::unique_ptr<BareWorker>> BareWorker::Make(absl::string_view model, int64_t batch,
                                                             int threads, DeviceFactory make_device) {
  const std::optional<ResNetSpec> spec = FindResNet(model);
  if (!spec.has_value()) return absl::InvalidArgumentError(absl::StrCat("unknown model \"", model, "\""));
  const ModelOptions options = OptionsFor(*spec, batch, threads);
  ASSIGN_OR_RETURN(std::unique_ptr<Model> made, MakeModel(*spec, options, make_device));
  return std::unique_ptr<BareWorker>(new BareWorker(std::move(made), options));
}

BareWorker::BareWorker(std::unique_ptr<Model> model, const ModelOptions& options)
    : model_(std::move(model)),
      partition_(model_->layout(), /*num_shards=*/1, /*block_bytes=*/std::nullopt),
      update_({.kind = LocalUpdateOptions::Kind::kMomentum, .weight_decay = 1e-4}, partition_,
              std::make_shared<SyncSchedule>(SyncScheduleOptions{}),
              std::make_shared<LearningRate>(LearningRateOptions{.base = 0.001}), model_->memory()),
      labels_(options.batch_size),
      gradient_(model_->layout().parameters.size()) {
  InitializeParameters(model_->layout(), /*seed=*/1, model_->parameters(), model_->buffers());
  const std::vector<double> numbers =
      testing::Deterministic("images", options.batch_size * options.image.size());
  images_.assign(numbers.begin(), numbers.end());
  for (int64_t i = 0; i < options.batch_size; ++i) labels_[i] = static_cast<int32_t>(i % options.classes);
}

void BareWorker::ComputeGradient() {
  testing::TrainNow(*model_, {images_, labels_, static_cast<int64_t>(labels_.size())}, gradient_);
}

void BareWorker::Step() {
  ComputeGradient();
  for (int64_t i = 0; i < partition_.num_parameter_blocks(); ++i) {
    const Block& block = partition_.block(BlockId(i));
    update_.Apply(block.id, ssd::Step(0), std::span(gradient_).subspan(block.offset, block.size),
                  model_->parameters().subspan(block.offset, block.size));
  }
}

}  // namespace ssd::benchmarks
