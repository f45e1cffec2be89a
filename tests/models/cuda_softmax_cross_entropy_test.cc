// The functor of softmax cross entropy by hand and beside the CPU's operation, with the threads of a warp and of a block.
#include "models/cuda/functors/softmax_cross_entropy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "models/cpu/softmax_cross_entropy.h"
#include "models/cuda/functors/tree_sum.h"
#include "tests/models/host_launch.h"

namespace ssd {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename Gradient>
struct Results {
  std::vector<SampleResult> samples;
  std::vector<Gradient> dlogits;
};

// SoftmaxCrossEntropyKernel: all threads of a block go through each phase before the next.
template <typename Gradient = float>
Results<Gradient> RunStep(const std::vector<float>& logits, std::vector<int32_t> labels, int classes,
                          int threads, int64_t valid = -1, const float* scale = nullptr) {
  Results<Gradient> results;
  const auto batch = static_cast<int64_t>(labels.size());
  results.samples.resize(batch, {.loss = 1e9, .top_1 = 7, .top_5 = 7});
  results.dlogits.resize(logits.size(), FromFloat<Gradient>(1e4f));
  const SoftmaxCrossEntropyStep<Gradient> step{.batch = batch,
                                               .valid = valid < 0 ? batch : valid,
                                               .classes = classes,
                                               .logits = logits.data(),
                                               .labels = labels.data(),
                                               .scale = scale,
                                               .dlogits = results.dlogits.data(),
                                               .results = results.samples.data()};
  std::vector<LogitScan> scans(threads);
  std::vector<double> sums(threads);
  for (int64_t n = 0; n < batch; ++n) {
    for (int thread = 0; thread < threads; ++thread) scans[thread] = step.Scan(n, thread, threads);
    TreeSum(scans.data(), threads);
    for (int thread = 0; thread < threads; ++thread)
      sums[thread] = step.Exponentials(n, scans[0], thread, threads);
    TreeSum(sums.data(), threads);
    for (int thread = 0; thread < threads; ++thread) step.Finish(n, scans[0], sums[0], thread, threads);
  }
  return results;
}

BatchSums Sum(const std::vector<SampleResult>& results) {
  const BatchSummation summation{.batch = static_cast<int64_t>(results.size()), .results = results.data()};
  std::vector<BatchSums> parts;
  for (int thread = 0; thread < 256; ++thread) parts.push_back(summation.ThreadSum(thread, 256));
  TreeSum(parts.data(), 256);
  return parts[0];
}

TEST(TreeSumTest, HalvesAreAddedUp) {
  // 2^53 + 1 is 2^53, so the order shows: (a + c) + (b + d).
  double parts[] = {0x1p53, 1, 1, 1};
  TreeSum(parts, 4);
  EXPECT_EQ(parts[0], 0x1p53 + 2);
}

TEST(CudaSoftmaxCrossEntropyTest, ByHand) {
  // Probabilities 1/4 and 3/4; 1/2 and 1/2.
  const auto [samples, dlogits] = RunStep<>({0, std::log(3.0f), 5, 5}, {0, 1}, 2, 32);
  EXPECT_NEAR(samples[0].loss, std::log(4.0), 1e-7);
  EXPECT_NEAR(samples[1].loss, std::numbers::ln2, 1e-15);
  EXPECT_EQ(samples[0].top_1, 0);
  EXPECT_EQ(samples[1].top_1, 0) << "of equal logits the first counts as the largest";
  EXPECT_EQ(samples[1].top_5, 1) << "there are fewer than five";
  EXPECT_NEAR(dlogits[0], -0.375, 1e-7);
  EXPECT_NEAR(dlogits[1], 0.375, 1e-7);
  EXPECT_EQ(dlogits[2], 0.25f);
  EXPECT_EQ(dlogits[3], -0.25f);
}

TEST(CudaSoftmaxCrossEntropyTest, TheLabelsRankCountsTiesBeforeIt) {
  const std::vector<float> logits = {3, 1, 2, 2, 2, 2, 2, 0};
  const auto top = [&](int32_t label) {
    const SampleResult result = RunStep<>(logits, {label}, 8, 32).samples[0];
    return std::pair(result.top_1, result.top_5);
  };
  EXPECT_EQ(top(0), std::pair(1, 1));
  EXPECT_EQ(top(2), std::pair(0, 1)) << "second";
  EXPECT_EQ(top(5), std::pair(0, 1)) << "fifth: behind 0, 2, 3 and 4";
  EXPECT_EQ(top(6), std::pair(0, 0)) << "sixth";
  EXPECT_EQ(top(1), std::pair(0, 0));
}

TEST(CudaSoftmaxCrossEntropyTest, ASampleWithANanIsNotCorrectAndItsLossIsOne) {
  for (const int threads : {32, 256}) {
    for (const int32_t place : {0, 1, 2}) {
      std::vector<float> logits = {5, 1, 1};
      logits[place] = kNan;
      const auto [samples, dlogits] = RunStep<>(logits, {0}, 3, threads);
      EXPECT_EQ(samples[0].top_1, 0) << place;
      EXPECT_EQ(samples[0].top_5, 0) << place;
      EXPECT_TRUE(std::isnan(samples[0].loss)) << place;
      for (const float value : dlogits) EXPECT_TRUE(std::isnan(value)) << place;
    }
  }
}

TEST(CudaSoftmaxCrossEntropyTest, LargeLogitsDoNotOverflow) {
  const auto [samples, dlogits] = RunStep<>({3e38f, -3e38f, 0, -kInfinity}, {0, 0}, 2, 32);
  EXPECT_EQ(samples[0].loss, 0);
  EXPECT_EQ(samples[0].top_1, 1);
  EXPECT_EQ(samples[1].loss, 0);
  EXPECT_THAT(dlogits, Each(0.0f));
}

TEST(CudaSoftmaxCrossEntropyTest, SamplesOfPaddingCountForNothing) {
  // Their labels are no classes, and their logits NaN: neither shows.
  const std::vector<float> logits = {1, 1, kNan, kNan, kNan, kNan};
  const auto [samples, dlogits] = RunStep<>(logits, {0, 1'000'000, -5}, 2, 32, /*valid=*/1);
  EXPECT_NEAR(samples[0].loss, std::numbers::ln2, 1e-15);
  const BatchSums sums = Sum(samples);
  EXPECT_EQ(sums.loss, samples[0].loss);
  EXPECT_EQ(sums.top_1, 1);
  EXPECT_EQ(sums.top_5, 1);
  EXPECT_THAT(dlogits, ElementsAre(-0.5f / 3, 0.5f / 3, 0, 0, 0, 0)) << "of the mean over the whole batch";
}

TEST(CudaSoftmaxCrossEntropyTest, TheGradientIsScaledBeforeItIsRounded) {
  const float scale = 1024;
  // A probability of exp(-17) is 4e-8, below a half's smallest, 6e-8, and 1024 times that is not.
  const std::vector<float> logits = {0, -17};
  EXPECT_EQ(RunStep<Float16>(logits, {0}, 2, 32).dlogits[1].bits, 1) << "rounded up to 6e-8";
  const auto scaled = RunStep<Float16>(logits, {0}, 2, 32, -1, &scale).dlogits;
  EXPECT_NEAR(ToFloat(scaled[1]), 1024 * std::exp(-17.0), 1024 * std::exp(-17.0) * 0x1p-10);
  EXPECT_EQ(ToFloat(scaled[0]), -ToFloat(scaled[1]));
}

TEST(CudaSoftmaxCrossEntropyTest, MatchesTheCpu) {
  for (const int classes : {2, 10, 33, 100, 257, 1000}) {
    for (const int threads : {32, 256}) {
      const int64_t batch = 9;
      std::vector<float> logits = testing::Floats("logits", batch * classes);
      std::vector<int32_t> labels;
      for (float& logit : logits) logit = std::round(logit * 30) / 3;  // with ties
      for (int64_t n = 0; n < batch; ++n) labels.push_back(static_cast<int32_t>(n * 7919 % classes));
      for (int64_t n = 0; n < 5; ++n) logits[n * classes + labels[n]] += 12;  // largest, or almost
      const auto results = RunStep<>(logits, labels, classes, threads, /*valid=*/7);
      CpuSoftmaxCrossEntropy cpu(batch, classes);
      cpu.Forward(logits.data(), labels.data(), 7);
      const BatchResult expected = cpu.Result();
      const BatchSums sums = Sum(results.samples);
      EXPECT_NEAR(sums.loss, expected.loss, expected.loss * 1e-14);
      EXPECT_EQ(sums.top_1, expected.correct);

      const auto gradient = RunStep<>(logits, labels, classes, threads).dlogits;
      std::vector<float> cpu_gradient(logits.size());
      cpu.Backward(logits.data(), labels.data(), cpu_gradient.data());
      for (size_t i = 0; i < gradient.size(); ++i) {
        ASSERT_NEAR(gradient[i], cpu_gradient[i], std::abs(cpu_gradient[i]) * 0x1p-23) << i;
      }
    }
  }
}

TEST(CudaSoftmaxCrossEntropyTest, TheLossIsTheSameWithTheThreadsOfAWarpAndOfABlockToSomePlaces) {
  const std::vector<float> logits = testing::Floats("logits", 1000);
  const double warp = RunStep<>(logits, {3}, 1000, 32).samples[0].loss;
  const double block = RunStep<>(logits, {3}, 1000, 256).samples[0].loss;
  EXPECT_NEAR(warp, block, warp * 1e-14);
}

}  // namespace
}  // namespace ssd
