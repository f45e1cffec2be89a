#include "worker/data/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "worker/data/channel_statistics.h"
#include "worker/data/data_order.h"
#include "worker/data/evaluation_stripe.h"
#include "worker/data/training_batches.h"

namespace ssd {
namespace {

using ::testing::Each;
using ::testing::ElementsAreArray;
using ::testing::SizeIs;

uint64_t Fnv1a(std::span<const uint8_t> bytes) {
  uint64_t hash = 0xCBF29CE484222325;
  for (uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001B3;
  return hash;
}

std::vector<uint8_t> Copy(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

TEST(ShapesTest, PicturesAreTheSameOnEveryMachineAndCompiler) {
  // The hashes of what these pictures were when they were last looked at.
  const ImageData data = MakeShapes(/*seed=*/1, /*train=*/200, /*test=*/50);
  EXPECT_EQ(Fnv1a(data.train.pixels), 0xb1e5a9af40214218);
  EXPECT_EQ(Fnv1a(data.test.pixels), 0xe8f3feb17c53739e);
}

TEST(ShapesTest, AnImageDoesNotDependOnHowManyThereAre) {
  const ImageData few = MakeShapes(/*seed=*/3, /*train=*/10, /*test=*/10);
  const ImageData many = MakeShapes(/*seed=*/3, /*train=*/40, /*test=*/20);
  for (int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(Copy(few.train.image(i)), Copy(many.train.image(i))) << i;
    EXPECT_EQ(Copy(few.test.image(i)), Copy(many.test.image(i))) << i;
  }
}

TEST(ShapesTest, NoPictureIsInBothSetsOrInAnotherSeeds) {
  std::set<uint64_t> seen;
  for (uint64_t seed : {1, 2}) {
    const ImageData data = MakeShapes(seed, /*train=*/500, /*test=*/500);
    for (int64_t i = 0; i < 500; ++i) {
      EXPECT_TRUE(seen.insert(Fnv1a(data.train.image(i))).second) << "seed " << seed << " train " << i;
      EXPECT_TRUE(seen.insert(Fnv1a(data.test.image(i))).second) << "seed " << seed << " test " << i;
    }
  }
}

TEST(ShapesTest, EveryClassHasATenthOfTheImagesAndAName) {
  const ImageData data = MakeShapes(/*seed=*/1, /*train=*/300, /*test=*/100);
  for (const ImageSet* set : {&data.train, &data.test}) {
    EXPECT_EQ(set->shape, (ImageShape{.height = 32, .width = 32, .channels = 3}));
    EXPECT_THAT(set->pixels, SizeIs(set->size() * 3072));
    std::vector<int64_t> counts(10);
    for (int32_t label : set->labels) ++counts.at(label);
    EXPECT_THAT(counts, Each(set->size() / 10));
    EXPECT_EQ(std::set<std::string>(set->class_names.begin(), set->class_names.end()).size(), 10u);
  }
}

TEST(ShapesTest, BothSetsAreNormalisedByTheTrainingSet) {
  const ImageData data = MakeShapes(/*seed=*/1, /*train=*/300, /*test=*/100);
  const ChannelStatistics train = ComputeChannelStatistics(data.train);
  for (int channel = 0; channel < 3; ++channel) {
    EXPECT_FLOAT_EQ(data.train.mean[channel], static_cast<float>(train.mean[channel]));
    EXPECT_FLOAT_EQ(data.train.std[channel], static_cast<float>(train.std[channel]));
  }
  EXPECT_THAT(data.test.mean, ElementsAreArray(data.train.mean));
  EXPECT_THAT(data.test.std, ElementsAreArray(data.train.std));
}

// Logistic regressions that learn side by side, each at its own rate, by plain minibatch SGD.
class LogisticRegressions {
 public:
  LogisticRegressions(int64_t features, std::vector<float> rates)
      : rates_(std::move(rates)),
        weights_(Matrix::Zero(features, kClasses * rates_.size())),
        biases_(Eigen::RowVectorXf::Zero(weights_.cols())) {}

  void Learn(const Batch& batch) {
    const Eigen::Map<const Matrix> x = Features(batch);
    Matrix error = Scores(x);  // becomes d loss / d scores
    for (size_t model = 0; model < rates_.size(); ++model) {
      auto scores = error.middleCols(model * kClasses, kClasses);
      for (int64_t i = 0; i < scores.rows(); ++i) {
        scores.row(i) = (scores.row(i).array() - scores.row(i).maxCoeff()).exp();
        scores.row(i) /= scores.row(i).sum();
        scores(i, batch.labels[i]) -= 1;
      }
      scores *= rates_[model] / static_cast<float>(x.rows());
    }
    weights_.noalias() -= x.transpose() * error;
    biases_ -= error.colwise().sum();
  }

  // Adds to `correct`, by model.
  void Count(const Batch& batch, std::vector<int64_t>& correct) const {
    const Matrix scores = Scores(Features(batch));
    for (size_t model = 0; model < rates_.size(); ++model) {
      for (int64_t i = 0; i < batch.valid; ++i) {
        int64_t best;
        scores.row(i).segment(model * kClasses, kClasses).maxCoeff(&best);
        correct[model] += best == batch.labels[i];
      }
    }
  }

 private:
  static constexpr int64_t kClasses = 10;
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  Eigen::Map<const Matrix> Features(const Batch& batch) const {
    return {batch.images.data(), static_cast<int64_t>(batch.labels.size()), weights_.rows()};
  }
  Matrix Scores(const Eigen::Map<const Matrix>& x) const { return (x * weights_).rowwise() + biases_; }

  const std::vector<float> rates_;
  Matrix weights_;             // (features, models x classes)
  Eigen::RowVectorXf biases_;  // (models x classes)
};

// The best of these is right about once in four. The other end, that a ResNet-8 passes 90 %, is for tests
// that train one.
TEST(ShapesTest, LinearClassifiersOfThePixelsStayUnderHalf) {
  constexpr int64_t kTrain = 20'000, kTest = 4'000, kBatch = 100, kEpochs = 5;
  const ImageData data = MakeShapes(/*seed=*/1, kTrain, kTest);
  const std::vector<float> rates = {1e-4f, 3e-4f, 1e-3f, 3e-3f, 1e-2f, 3e-2f};
  LogisticRegressions models(data.train.shape.size(), rates);
  TrainingBatches batches(data.train,
                          DataOrder({.seed = 1, .samples = kTrain, .workers = 1, .batch = kBatch}),
                          WorkerId(0), /*augment=*/false);
  EvaluationStripe test(data.test, WorkerId(0), /*workers=*/1, kBatch);
  std::vector<float> images(batches.batch_floats());
  std::vector<int32_t> labels(kBatch);
  double best = 0;
  Step step;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (int64_t i = 0; i < kTrain / kBatch; ++i, ++step) {
      batches.Make(step, images, labels);
      models.Learn({.images = images, .labels = labels, .valid = kBatch});
    }
    std::vector<int64_t> correct(rates.size());
    for (int64_t i = 0; i < test.num_batches(); ++i) models.Count(test.Read(i), correct);
    for (int64_t right : correct) best = std::max(best, static_cast<double>(right) / kTest);
  }
  EXPECT_LT(best, 0.5);
  EXPECT_GT(best, 0.15);  // chance is 0.1
}

}  // namespace
}  // namespace ssd
