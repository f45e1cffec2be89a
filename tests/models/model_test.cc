// What the training runtime relies on in any model.
#include "models/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "models/initialization.h"
#include "models/registry.h"
#include "tests/testing/deterministic.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::Deterministic;
using ::ssd::testing::StatusIs;
using ::testing::ElementsAre;
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
    return model_->Train(MakeBatch(), gradient_, [](int64_t) {});
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
  model_->Train(MakeBatch(), gradient_, [&](int64_t first) {
    ASSERT_LT(first, last);
    std::copy(gradient_.begin() + first, gradient_.begin() + last, announced.begin() + first);
    last = first;
    ++calls;
  });
  EXPECT_EQ(last, 0);
  EXPECT_EQ(calls, 15);             // 7 convolutions, 7 batch norms, 1 linear layer
  EXPECT_EQ(announced, gradient_);  // no NaN is left, which would differ from itself
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
  const BatchResult trained = model_->Train({images_, labels_, 1}, gradient_, [](int64_t) {});
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

TEST(RegistryTest, NamesAreThoseOfThePaper) {
  EXPECT_THAT(ModelNames(),
              ElementsAre("resnet8", "resnet20", "resnet32", "resnet44", "resnet56", "resnet110"));
}

TEST(RegistryTest, EveryModelHasTheSizeOfThePaper) {
  // He et al. 2015, table 6, in millions: 0.27, 0.46, 0.66, 0.85, 1.7.
  const int64_t sizes[] = {75290, 269722, 464154, 658586, 853018, 1727962};
  const std::vector<std::string> names = ModelNames();
  for (size_t i = 0; i < names.size(); ++i) {
    const auto layout = LayoutOf(names[i], {32, 32, 3}, 10);
    ASSERT_OK(layout);
    EXPECT_EQ(layout->parameters.size(), sizes[i]) << names[i];
  }
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
