// What the training runtime relies on in any model.
#include "models/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "models/initialization.h"
#include "models/registry.h"
#include "tests/testing/deterministic.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/train_now.h"

namespace ssd {
namespace {

using ::ssd::testing::Deterministic;
using ::ssd::testing::StatusIs;
using ::testing::HasSubstr;

constexpr int64_t kBatch = 4;
constexpr ModelOptions kOptions{.image = {16, 12, 3}, .classes = 5, .batch_size = kBatch, .threads = 1};

class ModelTest : public ::testing::Test {
 protected:
  ModelTest() : model_(Make()), gradient_(model_->layout().parameters.size()) {
    for (const double value : Deterministic("images", kBatch * kOptions.image.size()))
      images_.push_back(value);
  }

  static std::unique_ptr<Model> Make(ModelOptions options = kOptions) {
    auto model = MakeModel("resnet8", options);
    EXPECT_OK(model);
    InitializeParameters((*model)->layout(), /*seed=*/1, (*model)->parameters(), (*model)->buffers());
    return *std::move(model);
  }

  Batch MakeBatch(int64_t valid = kBatch) const { return {images_, labels_, valid}; }
  BatchResult Train() {
    return testing::TrainNow(*model_, MakeBatch(), gradient_);
  }

  std::unique_ptr<Model> model_;
  std::vector<float> images_;
  std::vector<int32_t> labels_ = {0, 4, 2, 0};
  std::vector<float> gradient_;
};

std::vector<float> Copy(std::span<const float> values) { return {values.begin(), values.end()}; }

TEST_F(ModelTest, ReadyFallsToZeroAndWhatItAnnouncedStays) {
  std::fill(gradient_.begin(), gradient_.end(), std::nanf(""));
  std::vector<float> announced(gradient_.size());
  auto last = static_cast<int64_t>(gradient_.size());
  int calls = 0;
  testing::TrainNow(*model_, MakeBatch(), gradient_, [&](int64_t first) {
    ASSERT_LT(first, last);
    std::copy(gradient_.begin() + first, gradient_.begin() + last, announced.begin() + first);
    last = first;
    ++calls;
  });
  EXPECT_EQ(last, 0);
  EXPECT_EQ(calls, 15);             // 7 convolutions, 7 batch norms, 1 linear layer
  EXPECT_EQ(announced, gradient_);  // no NaN is left, which would differ from itself
}

TEST_F(ModelTest, AProjectionIsAnnouncedInItsPlace) {
  const ResNetSpec spec{.block = ResNetSpec::Block::kBottleneck, .layers = {1, 2}, .width = 4};
  auto model = MakeModel(spec, kOptions);
  ASSERT_OK(model);
  model_ = *std::move(model);
  InitializeParameters(model_->layout(), /*seed=*/1, model_->parameters(), model_->buffers());
  gradient_.assign(model_->layout().parameters.size(), std::nanf(""));
  std::vector<float> announced(gradient_.size());
  std::vector<std::string> firsts;  // names of the tensors that calls began with
  auto last = static_cast<int64_t>(gradient_.size());
  testing::TrainNow(*model_, MakeBatch(), gradient_, [&](int64_t first) {
    ASSERT_LT(first, last);
    std::copy(gradient_.begin() + first, gradient_.begin() + last, announced.begin() + first);
    last = first;
    firsts.push_back(model_->layout().parameters.TensorAt(first).name);
  });
  EXPECT_EQ(last, 0);
  EXPECT_EQ(announced, gradient_);
  std::vector<std::string> expected;  // the first tensor of each module
  for (const TensorSpec& tensor : model_->layout().parameters.tensors()) {
    if (absl::EndsWith(tensor.name, ".weight")) expected.insert(expected.begin(), tensor.name);
  }
  EXPECT_EQ(firsts, expected);
}

TEST_F(ModelTest, TrainingChangesBuffersAndLeavesParameters) {
  const std::vector<float> parameters = Copy(model_->parameters());
  const std::vector<float> buffers = Copy(model_->buffers());
  const BatchResult result = Train();
  EXPECT_EQ(result.samples, kBatch);
  EXPECT_EQ(Copy(model_->parameters()), parameters);
  EXPECT_NE(Copy(model_->buffers()), buffers);
}

TEST_F(ModelTest, EvaluateChangesNoBit) {
  Train();
  const std::vector<float> parameters = Copy(model_->parameters());
  const std::vector<float> buffers = Copy(model_->buffers());
  const std::vector<float> others(buffers.size(), 1.5f);
  model_->Evaluate(MakeBatch(/*valid=*/2), others);
  EXPECT_EQ(Copy(model_->parameters()), parameters);
  EXPECT_EQ(Copy(model_->buffers()), buffers);
}

TEST_F(ModelTest, EvaluationBetweenStepsDoesNotShowInTheNextStep) {
  Train();
  const std::vector<float> buffers = Copy(model_->buffers());
  Train();
  const std::vector<float> gradient = gradient_;
  std::copy(buffers.begin(), buffers.end(), model_->buffers().begin());
  model_->Evaluate(MakeBatch(), buffers);
  Train();
  EXPECT_EQ(gradient_, gradient);
}

TEST_F(ModelTest, EvaluateUsesTheBuffersGiven) {
  const std::vector<float> ones(model_->buffers().size(), 1.0f);
  const double own = model_->Evaluate(MakeBatch(), model_->buffers()).loss;
  EXPECT_NE(model_->Evaluate(MakeBatch(), ones).loss, own);
}

TEST_F(ModelTest, PaddingDoesNotShowInAnEvaluation) {
  const BatchResult before = model_->Evaluate(MakeBatch(/*valid=*/3), model_->buffers());
  EXPECT_EQ(before.samples, 3);
  std::fill(images_.end() - kOptions.image.size(), images_.end(), 7.0f);
  labels_.back() = -1;
  const BatchResult after = model_->Evaluate(MakeBatch(/*valid=*/3), model_->buffers());
  EXPECT_EQ(after.loss, before.loss);
  EXPECT_EQ(after.correct, before.correct);
}

TEST_F(ModelTest, TwoPassesAreEqualBitForBit) {
  for (const int threads : {1, 2}) {
    ModelOptions options = kOptions;
    options.threads = threads;
    model_ = Make(options);
    const double loss = Train().loss;
    const std::vector<float> gradient = gradient_;
    const std::vector<float> buffers = Copy(model_->buffers());
    model_ = Make(options);
    EXPECT_EQ(Train().loss, loss);
    EXPECT_EQ(gradient_, gradient);
    EXPECT_EQ(Copy(model_->buffers()), buffers);
  }
}

TEST_F(ModelTest, RunsTheSameOnAnotherThreadThanMadeIt) {
  Train();
  const std::vector<float> gradient = gradient_;
  std::thread([this] { Train(); }).join();
  EXPECT_EQ(gradient_, gradient);
}

TEST_F(ModelTest, BatchOfOneKeepsFiniteStatistics) {
  // 4 x 4 images leave one value a channel in the last stage.
  const ModelOptions options{.image = {4, 4, 1}, .classes = 2, .batch_size = 1, .threads = 1};
  model_ = Make(options);
  gradient_.assign(model_->layout().parameters.size(), 0);
  images_.resize(options.image.size());
  labels_ = {1};
  const BatchResult trained = testing::TrainNow(*model_, {images_, labels_, 1}, gradient_);
  EXPECT_TRUE(std::isfinite(trained.loss));
  for (const float value : model_->buffers()) ASSERT_TRUE(std::isfinite(value));
  EXPECT_TRUE(std::isfinite(model_->Evaluate({images_, labels_, 1}, model_->buffers()).loss));
}

TEST_F(ModelTest, PlainDescentLowersTheLoss) {
  const double first = Train().loss;
  double last = first;
  for (int step = 0; step < 20; ++step) {
    for (size_t i = 0; i < gradient_.size(); ++i) model_->parameters()[i] -= 0.05f * gradient_[i];
    last = Train().loss;
  }
  EXPECT_LT(last, 0.2 * first);
}

TEST(RegistryTest, EveryPublishedNetworkHasItsSize) {
  // He et al. 2015, table 6, in millions: 0.27, 0.46, 0.66, 0.85, 1.7; then those of torchvision's
  // documentation.
  const std::vector<std::pair<std::string, int64_t>> cifar = {{"resnet8", 75290},   {"resnet20", 269722},
                                                              {"resnet32", 464154}, {"resnet44", 658586},
                                                              {"resnet56", 853018}, {"resnet110", 1727962}};
  const std::vector<std::pair<std::string, int64_t>> imagenet = {{"resnet18", 11689512},
                                                                 {"resnet34", 21797672},
                                                                 {"resnet50", 25557032},
                                                                 {"resnet101", 44549160},
                                                                 {"resnet152", 60192808}};
  for (const auto& [name, size] : cifar) {
    EXPECT_EQ(LayoutOf(name, {32, 32, 3}, 10)->parameters.size(), size) << name;
  }
  for (const auto& [name, size] : imagenet) {
    EXPECT_EQ(LayoutOf(name, {224, 224, 3}, 1000)->parameters.size(), size) << name;
  }
  EXPECT_EQ(ModelNames().size(), cifar.size() + imagenet.size());
}

TEST(RegistryTest, ParametersAreCountedWithoutALayout) {
  std::vector<ResNetSpec> specs;
  for (const std::string& name : ModelNames()) specs.push_back(*FindResNet(name));
  for (const auto block : {ResNetSpec::Block::kBasic, ResNetSpec::Block::kBottleneck}) {
    for (const auto stem : {ResNetSpec::Stem::kCifar, ResNetSpec::Stem::kImageNet}) {
      for (const auto shortcut : {ResNetSpec::Shortcut::kPadded, ResNetSpec::Shortcut::kProjected}) {
        specs.push_back({block, {2}, 5, stem, shortcut});
        specs.push_back({block, {1, 3, 1, 2, 1}, 7, stem, shortcut});
      }
    }
  }
  for (const ResNetSpec& spec : specs) {
    for (const auto& [channels, classes] : {std::pair{3, 10}, std::pair{1, 7}}) {
      const auto outline = OutlineOf(spec, {32, 32, channels}, classes);
      ASSERT_OK(outline);
      EXPECT_EQ(CountParameters(spec, channels, classes), outline->layout.parameters.size());
    }
  }
}

TEST(RegistryTest, TheMemoryOfAPassIsThatOfAllOutputsAndThreeGradients) {
  // One basic block over 4 x 4 pixels of 2 channels, without a shortcut of its own.
  const ResNetSpec spec{.layers = {1}, .width = 2, .stem = ResNetSpec::Stem::kCifar};
  const auto outline = OutlineOf(spec, {4, 4, 3}, 5);
  ASSERT_OK(outline);
  const int64_t map = 4 * 4 * 2;
  // conv1, bn1; the block's conv1, bn1, conv2 and output; the average; the logits.
  EXPECT_EQ(outline->activation_floats, 2 * map + 4 * map + 2 + 5 + 3 * map);
}

TEST(RegistryTest, SpecificationsOutOfRangeAreRefused) {
  const auto error = [](const ResNetSpec& spec) { return OutlineOf(spec, {32, 32, 3}, 10).status(); };
  const auto invalid = [](absl::string_view what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, std::string(what));
  };
  EXPECT_THAT(error({.layers = {}}), invalid("stages: got 0, want 1 to 8"));
  EXPECT_THAT(error({.layers = std::vector<int64_t>(9, 1)}), invalid("stages: got 9, want 1 to 8"));
  EXPECT_THAT(error({.layers = {2, 0}}), invalid("blocks of a stage: got 0, want 1 to 1000"));
  EXPECT_THAT(error({.layers = {600, 401}}), invalid("blocks: got 1001, want 1 to 1000"));
  EXPECT_THAT(error({.layers = {1}, .width = 0}), invalid("width: got 0, want 1 to 4096"));
  EXPECT_THAT(error({.layers = {1}, .width = 4097}), invalid("width: got 4097, want 1 to 4096"));
}

TEST(RegistryTest, LayoutOfIsTheModels) {
  const auto model = MakeModel("resnet8", kOptions);
  ASSERT_OK(model);
  const auto layout = LayoutOf("resnet8", kOptions.image, kOptions.classes);
  ASSERT_OK(layout);
  EXPECT_EQ(*layout, (*model)->layout());
}

TEST(RegistryTest, WrongOptionsAreNamed) {
  const auto invalid = [](absl::string_view what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(what)));
  };
  EXPECT_THAT(LayoutOf("custom", {32, 32, 3}, 10), invalid("unknown model \"custom\""));
  EXPECT_THAT(MakeModel("resnet21", kOptions), invalid("unknown model \"resnet21\", known are resnet8, "));
  EXPECT_THAT(LayoutOf("resnet8", {0, 32, 3}, 10), invalid("image height: got 0"));
  EXPECT_THAT(LayoutOf("resnet8", {32, -1, 3}, 10), invalid("image width: got -1"));
  EXPECT_THAT(LayoutOf("resnet8", {32, 32, 0}, 10), invalid("image channels: got 0"));
  EXPECT_THAT(LayoutOf("resnet8", {32, 32, 3}, 0), invalid("classes: got 0"));
  ModelOptions options = kOptions;
  options.batch_size = 0;
  EXPECT_THAT(MakeModel("resnet8", options), invalid("batch size: got 0"));
  options = kOptions;
  options.threads = 0;
  EXPECT_THAT(MakeModel("resnet8", options), invalid("threads: got 0"));
}

}  // namespace
}  // namespace ssd
