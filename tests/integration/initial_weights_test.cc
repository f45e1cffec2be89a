// Training that starts from a model file: real programs throughout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/io/model_file.h"
#include "models/initialization.h"
#include "models/registry.h"
#include "tests/integration/ends_cluster.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::Process;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr ImageShape kImage = {.height = 32, .width = 32, .channels = 3};
constexpr char kPython[] = SSD_SOURCE_DIR "/build/venv/bin/python";

// A model as it lies in a file.
struct Weights {
  explicit Weights(ModelLayout of)
      : layout(std::move(of)), parameters(layout.parameters.size()), buffers(layout.buffers.size()) {}

  std::span<const float> Parameter(const std::string& name) const {
    for (const TensorSpec& tensor : layout.parameters.tensors()) {
      if (tensor.name == name) return std::span(parameters).subspan(tensor.offset, tensor.size);
    }
    return {};
  }

  ModelLayout layout;
  std::vector<float> parameters;
  std::vector<float> buffers;
};

Weights Read(const std::string& path, ModelLayout layout) {
  Weights weights(std::move(layout));
  EXPECT_OK(
      ReadModel(Disk::Real(), path, weights.layout, Matching::kStrict, weights.parameters, weights.buffers)
          .status());
  return weights;
}

class InitialWeightsTest : public ::testing::Test {
 protected:
  InitialWeightsTest() { Append(directory_.File("experiment.yaml"), SmallExperiment()); }

  // A rate at which no weight can change in float32, so that a run ends with what it started from.
  int Run(const std::vector<std::string>& settings) {
    std::vector<std::string> arguments = {Program("ssd-run"), directory_.File("experiment.yaml")};
    std::vector<std::string> all = {"output.directory=" + directory_.File("runs"), "training.duration=2it",
                                    "optimizer.lr=1e-30"};
    all.insert(all.end(), settings.begin(), settings.end());
    for (const std::string& setting : all) arguments.insert(arguments.end(), {"--set", setting});
    Process run("ssd-run", arguments, Process::Start::kRunning,
                {"OMP_WAIT_POLICY=passive", "XDG_RUNTIME_DIR=" + directory_.path(), "TERM=dumb"});
    const std::optional<int> code = run.Wait(3 * testing::kPatience);  // resnet18 under a sanitizer
    output_ = run.output();
    return code.value_or(-1);
  }

  // A file of resnet8 for `classes` classes, whose weights are those of seed 99 and whose running statistics
  // are 1000.
  Weights WriteResNet8(int64_t classes) {
    Weights weights(*LayoutOf("resnet8", kImage, classes));
    InitializeParameters(weights.layout, /*seed=*/99, weights.parameters, weights.buffers);
    for (float& value : weights.parameters) value = value == 0 ? 0.25f : value;
    for (float& value : weights.buffers) value = 1000;
    EXPECT_OK(WriteModel(Disk::Real(), directory_.File("start"), weights.layout, weights.parameters,
                         weights.buffers, /*steps=*/7));
    return weights;
  }

  std::string InRun(const std::string& file) { return directory_.File("runs/ends/001/" + file); }

  TemporaryDirectory directory_;
  std::string output_;
};

TEST_F(InitialWeightsTest, TrainingStartsFromTheFile) {
  const Weights start = WriteResNet8(/*classes=*/10);
  ASSERT_EQ(Run({"model.weights=" + directory_.File("start")}), 0) << output_;
  const Weights end = Read(InRun("model.safetensors"), start.layout);
  EXPECT_EQ(end.parameters, start.parameters);
  // The running statistics move by a tenth a step, on each worker from where the file has them.
  for (const float value : end.buffers) EXPECT_NEAR(value, 810, 20);
  EXPECT_THAT(output_,
              HasSubstr("\n  weights     starts from " + directory_.File("start") + ": all 37 tensors\n"));
  for (const char* worker : {"worker-0.log", "worker-1.log"}) {
    EXPECT_THAT(ReadWhole(InRun(worker)),
                HasSubstr("weights loaded path=" + directory_.File("start") + " tensors=37 of=37\n"));
  }
}

TEST_F(InitialWeightsTest, AnotherModelIsRefusedBeforeAnythingStarts) {
  WriteResNet8(/*classes=*/7);
  EXPECT_EQ(Run({"model.weights=" + directory_.File("start")}), 5);
  EXPECT_THAT(
      output_,
      AllOf(HasSubstr(directory_.File("start") + ": the tensors are not this model's: "),
            HasSubstr("\"fc.weight\" is F32 of shape [7, 64], want F32 of shape [10, 64]; \"fc.bias\" is "
                      "F32 of shape [7], want F32 of shape [10]"),
            Not(HasSubstr("conv1"))));
  EXPECT_FALSE(std::filesystem::exists(directory_.File("runs")));
}

TEST_F(InitialWeightsTest, WhatFitsIsTakenWhereAskedAndTheRestIsRandom) {
  const Weights start = WriteResNet8(/*classes=*/7);
  ASSERT_EQ(Run({"model.weights=" + directory_.File("start"), "model.weights_strict=false"}), 0) << output_;
  EXPECT_THAT(
      output_,
      AllOf(HasSubstr(": 35 of 37 tensors fit; 2 of another shape or type, 0 missing, 0 unexpected\n"),
            HasSubstr("\n              of another shape or type: \"fc.weight\" is F32 of shape [7, "
                      "64], want F32 of shape [10, 64]; \"fc.bias\" is")));
  EXPECT_THAT(ReadWhole(InRun("worker-0.log")),
              AllOf(HasSubstr("tensors=35 of=37\n"),
                    HasSubstr("weights of another shape or type: \"fc.weight\" is")));

  const Weights end = Read(InRun("model.safetensors"), *LayoutOf("resnet8", kImage, 10));
  Weights random(end.layout);
  InitializeParameters(random.layout, /*seed=*/1, random.parameters, random.buffers);
  EXPECT_THAT(end.Parameter("conv1.weight"), ::testing::ElementsAreArray(start.Parameter("conv1.weight")));
  EXPECT_THAT(end.Parameter("fc.weight"), ::testing::ElementsAreArray(random.Parameter("fc.weight")));
}

TEST_F(InitialWeightsTest, AFileThatIsNotThereOrNoModelIsNamed) {
  EXPECT_EQ(Run({"model.weights=" + directory_.File("nowhere")}), 2);
  EXPECT_THAT(output_, HasSubstr(directory_.File("nowhere") + ": "));
  Append(directory_.File("text"), "not a model, but long enough for a length");
  EXPECT_EQ(Run({"model.weights=" + directory_.File("text")}), 5);
  EXPECT_THAT(output_, HasSubstr(directory_.File("text") + ": a header of "));
}

TEST_F(InitialWeightsTest, AWorkerAloneChecksItsFile) {
  WriteResNet8(/*classes=*/7);
  EndsCluster cluster({});
  Process& worker = cluster.StartOddWorker(0, {"model.weights=" + directory_.File("start")});
  EXPECT_EQ(worker.Wait(), 5);
  EXPECT_THAT(worker.LastLine(), AllOf(HasSubstr("exit code=5 "), HasSubstr(directory_.File("start") + ": "),
                                       HasSubstr("\"fc.bias\" is F32 of shape [7], want F32 of shape [10]")));
  Process& lost = cluster.StartOddWorker(1, {"model.weights=" + directory_.File("nowhere")});
  EXPECT_EQ(lost.Wait(), 2);
  EXPECT_THAT(lost.LastLine(), HasSubstr(directory_.File("nowhere")));
}

// The usual case: torchvision's ImageNet weights, another number of classes; saved by Python, evaluated
// afterwards.
TEST_F(InitialWeightsTest, ImageNetWeightsOfTorchvisionAreAStart) {
  ASSERT_TRUE(std::filesystem::exists(kPython)) << "run deploy/test.sh, which makes build/venv";
  Process python("python", {kPython, SSD_SOURCE_DIR "/tests/python/make_torchvision_weights.py",
                            SSD_SOURCE_DIR "/tests/fixtures/resnet18.json", directory_.File("start")});
  ASSERT_EQ(python.Wait(), 0) << python.output();
  const Weights start = Read(directory_.File("start"), *LayoutOf("resnet18", {224, 224, 3}, 1000));
  ASSERT_EQ(
      Run({"model.name=resnet18", "model.weights=" + directory_.File("start"), "model.weights_strict=false"}),
      0)
      << output_;
  EXPECT_THAT(output_,
              HasSubstr(": 100 of 102 tensors fit; 2 of another shape or type, 0 missing, 0 unexpected\n"));
  const Weights end = Read(InRun("model.safetensors"), *LayoutOf("resnet18", kImage, 10));
  for (const TensorSpec& tensor : end.layout.parameters.tensors()) {
    if (tensor.name == "fc.weight" || tensor.name == "fc.bias") continue;
    const std::span<const float> a = end.Parameter(tensor.name), b = start.Parameter(tensor.name);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << tensor.name;
  }
  Process evaluation("ssd-run", {Program("ssd-run"), "--evaluate", InRun("model.safetensors")});
  EXPECT_EQ(evaluation.Wait(3 * testing::kPatience), 0) << evaluation.output();
  EXPECT_THAT(evaluation.output(), HasSubstr(" of 32), loss "));
}

}  // namespace
}  // namespace ssd
