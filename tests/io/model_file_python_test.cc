// Model files against the `safetensors` package of Python, in both directions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/io/model_file.h"
#include "nlohmann/json.hpp"
#include "tests/testing/deterministic.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

constexpr int64_t kSteps = 12345678901;  // beyond 32 bits
constexpr char kPython[] = SSD_SOURCE_DIR "/build/venv/bin/python";
constexpr char kMakePython[] =
    "build/venv is not there: run deploy/test.sh, which makes it, or python3 -m venv build/venv "
    "&& build/venv/bin/pip install -r tests/requirements.txt";
const SafetensorsMetadata kMetadata = {{"model", "größe \"1\""}};

// All axes of the convolutions differ, so that two that are swapped show. The first has an odd number of
// values, after which an int64 would not be aligned.
ModelLayout Layout() {
  ModelLayout layout;
  layout.parameters.Add("conv1.weight", {3, 5, 1, 7});
  layout.parameters.Add("bn1.weight", {3});
  layout.parameters.Add("bn1.bias", {3});
  layout.parameters.Add("layer1.0.downsample.0.weight", {4, 3, 2, 5});
  layout.parameters.Add("layer1.0.downsample.1.weight", {4});
  layout.parameters.Add("layer1.0.downsample.1.bias", {4});
  layout.parameters.Add("fc.weight", {2, 4});
  layout.parameters.Add("fc.bias", {2});
  for (const std::string name : {"bn1", "layer1.0.downsample.1"}) {
    layout.buffers.Add(name + ".running_mean", {name == "bn1" ? 3 : 4});
    layout.buffers.Add(name + ".running_var", {name == "bn1" ? 3 : 4});
  }
  return layout;
}

// The flat vector in which each tensor is its own deterministic sequence, in PyTorch's order of axes.
std::vector<float> Vector(const ParameterLayout& layout) {
  std::vector<float> vector(layout.size());
  for (const TensorSpec& tensor : layout.tensors()) {
    const std::vector<double> sequence = testing::Deterministic(tensor.name, tensor.size);
    if (tensor.shape.size() != 4) {
      for (int64_t i = 0; i < tensor.size; ++i) vector[tensor.offset + i] = static_cast<float>(sequence[i]);
      continue;
    }
    int64_t next = tensor.offset;
    const int64_t I = tensor.shape[1], H = tensor.shape[2], W = tensor.shape[3];
    for (int64_t o = 0; o < tensor.shape[0]; ++o) {
      for (int64_t h = 0; h < H; ++h) {
        for (int64_t w = 0; w < W; ++w) {
          for (int64_t i = 0; i < I; ++i) {
            vector[next++] = static_cast<float>(sequence[((o * I + i) * H + h) * W + w]);
          }
        }
      }
    }
  }
  return vector;
}

// What check_model.py is to find; the order is written out as PyTorch has it.
nlohmann::json Expected(const ModelLayout& layout) {
  nlohmann::json tensors = nlohmann::json::array();
  const auto add = [&](const ParameterLayout& part, const std::string& name) {
    for (const TensorSpec& tensor : part.tensors()) {
      if (tensor.name != name) continue;
      tensors.push_back({{"name", name}, {"dtype", "F32"}, {"shape", tensor.shape}, {"sequence", name}});
    }
  };
  const auto add_batch_norm = [&](const std::string& module) {
    add(layout.parameters, module + ".weight");
    add(layout.parameters, module + ".bias");
    add(layout.buffers, module + ".running_mean");
    add(layout.buffers, module + ".running_var");
    tensors.push_back({{"name", module + ".num_batches_tracked"},
                       {"dtype", "I64"},
                       {"shape", nlohmann::json::array()},
                       {"values", {kSteps}}});
  };
  add(layout.parameters, "conv1.weight");
  add_batch_norm("bn1");
  add(layout.parameters, "layer1.0.downsample.0.weight");
  add_batch_norm("layer1.0.downsample.1");
  add(layout.parameters, "fc.weight");
  add(layout.parameters, "fc.bias");
  return {{"metadata", {{"format", "pt"}, {"model", "größe \"1\""}}}, {"tensors", tensors}};
}

class ModelFilePythonTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder_.data()), nullptr); }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string File(const char* name) const { return absl::StrCat(folder_, "/", name); }

  // The exit code of check_model.py; what it prints goes to this test's output.
  int CheckWithPython() const {
    const std::string command =
        absl::StrCat(kPython, " " SSD_SOURCE_DIR "/tests/python/check_model.py ", File("model"), " ",
                     File("expected.json"), " ", File("rewritten"));
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string folder_ = (std::filesystem::temp_directory_path() / "ssd-model-file-XXXXXX").string();
};

TEST_F(ModelFilePythonTest, PythonReadsOurFilesAndWeReadPythons) {
  ASSERT_TRUE(std::filesystem::exists(kPython)) << kMakePython;
  const ModelLayout layout = Layout();
  const std::vector<float> parameters = Vector(layout.parameters);
  const std::vector<float> buffers = Vector(layout.buffers);
  ASSERT_OK(WriteModel(Disk::Real(), File("model"), layout, parameters, buffers, kSteps, kMetadata));
  std::ofstream(File("expected.json")) << Expected(layout);
  ASSERT_EQ(CheckWithPython(), 0);

  std::vector<float> parameters_read(parameters.size());
  std::vector<float> buffers_read(buffers.size());
  ASSERT_OK(
      ReadModel(Disk::Real(), File("rewritten"), layout, Matching::kStrict, parameters_read, buffers_read));
  EXPECT_EQ(parameters_read, parameters);
  EXPECT_EQ(buffers_read, buffers);
}

// The check has to be able to fail: the same file with the values as they lie in memory.
TEST_F(ModelFilePythonTest, PythonSeesAxesThatWereNotPermuted) {
  ASSERT_TRUE(std::filesystem::exists(kPython)) << kMakePython;
  const ModelLayout layout = Layout();
  ModelLayout flat{.parameters = {},
                   .buffers = layout.buffers};  // the same names and sizes, but no convolutions
  for (const TensorSpec& tensor : layout.parameters.tensors())
    flat.parameters.Add(tensor.name, {tensor.size});
  ASSERT_OK(WriteModel(Disk::Real(), File("model"), flat, Vector(layout.parameters), Vector(layout.buffers),
                       kSteps, kMetadata));
  nlohmann::json expected = Expected(layout);
  for (nlohmann::json& tensor : expected["tensors"]) {
    for (const TensorSpec& spec : flat.parameters.tensors()) {
      if (tensor["name"] == spec.name) tensor["shape"] = spec.shape;
    }
  }
  std::ofstream(File("expected.json")) << expected;
  EXPECT_EQ(CheckWithPython(), 1);
}

}  // namespace
}  // namespace ssd
