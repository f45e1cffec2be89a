// One training step and one evaluation against what PyTorch computed in float64
// (tests/fixtures/make_resnet_fixtures.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/io/model_file.h"
#include "models/cpu/device.h"
#include "models/registry.h"
#include "models/resnet.h"
#include "tests/testing/deterministic.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::Deterministic;

// Where value i of a tensor in PyTorch's order lies in ours: OIHW to OHWI, and NCHW to NHWC.
int64_t ChannelsLast(const std::vector<int64_t>& shape, int64_t i) {
  if (shape.size() != 4) return i;
  const int64_t w = i % shape[3];
  const int64_t h = i / shape[3] % shape[2];
  const int64_t c = i / (shape[3] * shape[2]) % shape[1];
  const int64_t n = i / (shape[3] * shape[2] * shape[1]);
  return ((n * shape[2] + h) * shape[3] + w) * shape[1] + c;
}

double Norm(std::span<const float> values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

// A parameter, by the fixture's rules.
void Fill(const TensorSpec& tensor, std::span<float> parameters) {
  const std::vector<double> numbers = Deterministic(tensor.name, tensor.size);
  const double fan_in = static_cast<double>(tensor.size) / static_cast<double>(tensor.shape[0]);
  for (int64_t i = 0; i < tensor.size; ++i) {
    double value = 0.1 * numbers[i];
    if (tensor.shape.size() >= 2) {
      value = numbers[i] * std::sqrt(6.0 / fan_in);
    } else if (absl::EndsWith(tensor.name, "weight")) {
      value += 1.0;
    }
    parameters[tensor.offset + ChannelsLast(tensor.shape, i)] = static_cast<float>(value);
  }
}

// How many times the tolerance a gradient gets. In float32 resnet56 has a dozen ReLUs whose inputs are as
// near to 0 as rounding errors are large. With AVX2's order of additions all of them take float64's branch;
// with another, one may not, which moves some gradients' norms by 3e-4 and their entries by 1e-2.
double Slack(int depth) { return depth > 20 && __builtin_cpu_supports("avx512f") ? 20 : 1; }

class ResNetFixtureTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::ifstream file(absl::StrCat(SSD_SOURCE_DIR, "/tests/fixtures/resnet", GetParam(), ".json"));
    ASSERT_TRUE(file.good());
    fixture_ = nlohmann::json::parse(file);
    const int64_t batch = fixture_["batch"];
    const std::vector<int64_t> chw = fixture_["image"];
    const ActivationShape input{batch, chw[1], chw[2], chw[0]};
    model_ = std::make_unique<Sequential>(MakeCifarResNet(GetParam(), input, fixture_["classes"]),
                                          MakeCpuDevice(/*threads=*/1));
    for (const TensorSpec& tensor : model_->layout().parameters.tensors()) Fill(tensor, model_->parameters());
    for (const TensorSpec& tensor : model_->layout().buffers.tensors()) {
      const float value = absl::EndsWith(tensor.name, "running_var") ? 1.0f : 0.0f;
      std::fill_n(model_->buffers().begin() + tensor.offset, tensor.size, value);
    }
    images_.resize(input.size());
    const std::vector<double> numbers = Deterministic(fixture_["input_name"], input.size());
    for (int64_t i = 0; i < input.size(); ++i) {
      images_[ChannelsLast({batch, chw[0], chw[1], chw[2]}, i)] = static_cast<float>(1.7 * numbers[i]);
    }
    labels_ = fixture_["labels"].get<std::vector<int32_t>>();
    gradient_.resize(model_->layout().parameters.size());
    result_ = model_->Train(MakeBatch(), gradient_, [](int64_t) {});
  }

  Batch MakeBatch() const { return {images_, labels_, static_cast<int64_t>(labels_.size())}; }

  // Rows of logits, within `tolerance` of the logits' root mean square.
  void ExpectLogits(const std::vector<double>& expected, int64_t offset, double norm) {
    const std::span<const float> logits = model_->logits();
    EXPECT_NEAR(Norm(logits), norm, 1e-4 * norm);
    const double rms = norm / std::sqrt(static_cast<double>(logits.size()));
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(logits[offset + i], expected[i], 1e-4 * rms) << i;
    }
  }

  nlohmann::json fixture_;
  std::unique_ptr<Sequential> model_;
  std::vector<float> images_;
  std::vector<int32_t> labels_;
  std::vector<float> gradient_;
  BatchResult result_;
};

TEST_P(ResNetFixtureTest, LossAndLogitsAreThoseOfPyTorch) {
  const double loss = fixture_["loss"];
  const auto batch = static_cast<double>(labels_.size());
  EXPECT_NEAR(result_.loss / batch, loss, 1e-4 * loss);
  EXPECT_EQ(result_.samples, fixture_["batch"]);
  const auto rows = fixture_["logits_head"].get<std::vector<std::vector<double>>>();
  for (size_t row = 0; row < rows.size(); ++row) {
    ExpectLogits(rows[row], static_cast<int64_t>(row) * int64_t{fixture_["classes"]},
                 fixture_["logits_norm"]);
  }
}

TEST_P(ResNetFixtureTest, EveryGradientIsThatOfPyTorch) {
  const auto& tensors = model_->layout().parameters.tensors();
  const nlohmann::json& expected = fixture_["parameters"];
  ASSERT_EQ(tensors.size(), expected.size());
  for (size_t t = 0; t < tensors.size(); ++t) {
    const TensorSpec& tensor = tensors[t];
    SCOPED_TRACE(tensor.name);
    EXPECT_EQ(tensor.name, expected[t]["name"]);
    EXPECT_EQ(tensor.shape, expected[t]["shape"].get<std::vector<int64_t>>());
    const std::span<const float> gradient = std::span(gradient_).subspan(tensor.offset, tensor.size);
    const double norm = expected[t]["gradient_norm"];
    EXPECT_NEAR(Norm(gradient), norm, 1e-4 * norm * Slack(GetParam()));
    const double rms = norm / std::sqrt(static_cast<double>(tensor.size));
    const auto head = expected[t]["gradient_head"].get<std::vector<double>>();
    for (size_t i = 0; i < head.size(); ++i) {
      EXPECT_NEAR(gradient[ChannelsLast(tensor.shape, static_cast<int64_t>(i))], head[i],
                  1e-3 * rms * Slack(GetParam()))
          << i;
    }
  }
}

TEST_P(ResNetFixtureTest, RunningStatisticsAreThoseOfPyTorch) {
  const auto& tensors = model_->layout().buffers.tensors();
  size_t t = 0;
  for (const nlohmann::json& expected : fixture_["buffers_after_forward"]) {
    if (absl::EndsWith(expected["name"].get<std::string>(), "num_batches_tracked")) continue;
    ASSERT_LT(t, tensors.size());
    const TensorSpec& tensor = tensors[t++];
    SCOPED_TRACE(tensor.name);
    EXPECT_EQ(tensor.name, expected["name"]);
    const std::span<const float> values = model_->buffers().subspan(tensor.offset, tensor.size);
    const double norm = expected["norm"];
    EXPECT_NEAR(Norm(values), norm, 1e-4 * norm);
    const double rms = norm / std::sqrt(static_cast<double>(tensor.size));
    const auto head = expected["head"].get<std::vector<double>>();
    for (size_t i = 0; i < head.size(); ++i) EXPECT_NEAR(values[i], head[i], 1e-4 * rms) << i;
  }
  EXPECT_EQ(t, tensors.size());
}

TEST_P(ResNetFixtureTest, EvaluationIsThatOfPyTorch) {
  model_->Evaluate(MakeBatch(), model_->buffers());
  ExpectLogits(fixture_["eval_logits_head"].get<std::vector<double>>(), 0,
               fixture_["eval_logits_norm_after_forward"]);
}

TEST_P(ResNetFixtureTest, NamesAndSizeAreThoseOfPyTorch) {
  EXPECT_EQ(model_->layout().parameters.size(), fixture_["parameter_count"]);
  EXPECT_EQ(StateDictNames(model_->layout()), fixture_["state_dict_names"].get<std::vector<std::string>>());
}

INSTANTIATE_TEST_SUITE_P(Depths, ResNetFixtureTest, ::testing::Values(20, 56),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace ssd
