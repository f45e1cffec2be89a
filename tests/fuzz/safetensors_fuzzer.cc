// The reader of safetensors files, and of models in them.
//
// A file that is read covers its values without holes, and what the writer can write of it reads the same; a model is
// this layout's or InvalidArgument and nothing is touched; a model that was read and written reads the same; everything
// else is DataLoss.
#include <cstring>
#include <string>
#include <vector>

#include "common/io/model_file.h"
#include "common/io/safetensors.h"
#include "tests/fuzz/property.h"
#include "tests/io/memory_disk.h"

namespace ssd {
namespace {

// A convolution, a batch norm and a linear layer: each way in which a tensor is read.
const ModelLayout& Layout() {
  static const ModelLayout* const layout = [] {
    auto* made = new ModelLayout;
    made->parameters.Add("conv1.weight", {2, 1, 1, 2});
    made->parameters.Add("bn1.weight", {2});
    made->parameters.Add("bn1.bias", {2});
    made->parameters.Add("fc.weight", {1, 2});
    made->buffers.Add("bn1.running_mean", {2});
    made->buffers.Add("bn1.running_var", {2});
    return made;
  }();
  return *layout;
}

struct Model {
  std::vector<float> parameters = std::vector<float>(Layout().parameters.size(), 7.0f);
  std::vector<float> buffers = std::vector<float>(Layout().buffers.size(), 7.0f);

  absl::Status Read(Disk& disk, const std::string& path) {
    return ReadModel(disk, path, Layout(), Matching::kStrict, parameters, buffers).status();
  }
  // Bits, for values may be NaN.
  bool operator==(const Model& other) const {
    return std::memcmp(parameters.data(), other.parameters.data(), parameters.size() * sizeof(float)) == 0 &&
           std::memcmp(buffers.data(), other.buffers.data(), buffers.size() * sizeof(float)) == 0;
  }
};

void CheckModel(MemoryDisk& disk, const absl::Status& parsed) {
  Model model;
  const absl::Status status = model.Read(disk, "in");
  if (!status.ok()) {
    SSD_PROPERTY(model == Model());
    SSD_PROPERTY(status.code() == (parsed.ok() ? absl::StatusCode::kInvalidArgument : parsed.code()))
        << status.ToString();
    return;
  }
  SSD_PROPERTY(parsed.ok());
  CHECK_OK(WriteModel(disk, "model", Layout(), model.parameters, model.buffers, /*steps=*/3));
  Model again;
  CHECK_OK(again.Read(disk, "model"));
  SSD_PROPERTY(again == model);
}

// Writes the tensors of types that are written, from aligned copies, and reads them again.
void CheckWriting(MemoryDisk& disk, const Safetensors& file) {
  std::vector<std::vector<float>> floats(file.tensors.size());
  std::vector<std::vector<int64_t>> integers(file.tensors.size());
  std::vector<SafetensorsSource> sources;
  std::vector<const SafetensorsTensor*> written;
  for (size_t i = 0; i < file.tensors.size(); ++i) {
    const SafetensorsTensor& tensor = file.tensors[i];
    if (tensor.type == SafetensorsType::kF32) {
      floats[i].resize(tensor.bytes.size() / sizeof(float));
      CHECK_OK(tensor.CopyTo(std::span<float>(floats[i])));
      sources.push_back(
          {.name = tensor.name, .shape = tensor.shape, .values = std::span<const float>(floats[i])});
    } else if (tensor.type == SafetensorsType::kI64) {
      integers[i].resize(tensor.bytes.size() / sizeof(int64_t));
      CHECK_OK(tensor.CopyTo(std::span<int64_t>(integers[i])));
      sources.push_back(
          {.name = tensor.name, .shape = tensor.shape, .values = std::span<const int64_t>(integers[i])});
    } else {
      continue;
    }
    written.push_back(&tensor);
  }
  CHECK_OK(WriteSafetensors(disk, "out", sources, file.metadata));
  const absl::StatusOr<Safetensors> again = ReadSafetensors(disk, "out");
  SSD_PROPERTY(again.ok()) << again.status().ToString();
  SSD_PROPERTY(again->metadata == file.metadata);
  SSD_PROPERTY(again->tensors.size() == written.size());
  for (const SafetensorsTensor* tensor : written) {
    bool found = false;
    for (const SafetensorsTensor& other : again->tensors) {
      if (other.name != tensor->name) continue;
      found = other.type == tensor->type && other.shape == tensor->shape && other.bytes == tensor->bytes;
    }
    SSD_PROPERTY(found) << tensor->name;
  }
}

void Check(absl::string_view content) {
  MemoryDisk disk;
  disk.files["in"] = std::string(content);
  const absl::StatusOr<Safetensors> file = ReadSafetensors(disk, "in");
  if (file.ok()) {
    const char* next = file->content->data() + file->content->size();
    for (auto tensor = file->tensors.rbegin(); tensor != file->tensors.rend(); ++tensor) {
      SSD_PROPERTY(tensor->bytes.data() + tensor->bytes.size() == next);
      next = tensor->bytes.data();
    }
    SSD_PROPERTY(next >= file->content->data() + 8);
    CheckWriting(disk, *file);
  } else {
    SSD_PROPERTY(file.status().code() == absl::StatusCode::kDataLoss) << file.status().ToString();
  }
  CheckModel(disk, file.status());
}

}  // namespace
}  // namespace ssd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ssd::Check(ssd::TextOf(data, size));
  return 0;
}
