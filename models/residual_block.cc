#include "models/residual_block.h"

#include "absl/strings/str_cat.h"
#include "common/logging.h"

namespace ssd {

ResidualBlock::ResidualBlock(absl::string_view name, const ActivationShape& input,
                             const std::vector<BranchConvolution>& branch, ResNetSpec::Shortcut shortcut,
                             ModelLayout& layout)
    : input_(input), output_shape_(input) {
  CHECK(!branch.empty());
  int64_t stride = 1;
  for (size_t i = 0; i < branch.size(); ++i) {
    const auto& [kernel, outputs, own_stride] = branch[i];
    const ConvolutionShape shape{.input = output_shape_,
                                 .outputs = outputs,
                                 .kernel = kernel,
                                 .stride = own_stride,
                                 .padding = kernel / 2};
    branch_.push_back(std::make_unique<ConvolutionLayer>(absl::StrCat(name, ".conv", i + 1), shape, layout));
    output_shape_ = shape.output();
    stride *= own_stride;
    const std::string norm = absl::StrCat(name, ".bn", i + 1);
    if (i + 1 < branch.size()) {
      branch_.push_back(std::make_unique<BatchNormLayer>(norm, output_shape_, /*relu=*/true, layout));
    } else {
      last_norm_.emplace(norm, outputs, layout);
    }
  }
  branch_inputs_.resize(branch_.size() + 1);
  if (output_shape_ == input || shortcut == ResNetSpec::Shortcut::kPadded) return;
  const ConvolutionShape shape{
      .input = input, .outputs = output_shape_.channels, .kernel = 1, .stride = stride, .padding = 0};
  ConvolutionLayer convolution(absl::StrCat(name, ".downsample.0"), shape, layout);
  BatchNormLayer norm(absl::StrCat(name, ".downsample.1"), shape.output(), /*relu=*/false, layout);
  CHECK(shape.output() == output_shape_);
  projection_.emplace(Projection{.convolution = std::move(convolution), .norm = std::move(norm)});
}

int64_t ResidualBlock::activation_floats() const {
  int64_t floats = output_shape_.size();
  for (const auto& layer : branch_) floats += layer->activation_floats();
  if (projection_)
    floats += projection_->convolution.activation_floats() + projection_->norm.activation_floats();
  return floats;
}

void ResidualBlock::Build(Device& device, bool input_gradient) {
  for (const auto& layer : branch_) layer->Build(device, input_gradient || layer != branch_.front());
  end_ = device.MakeResidualNorm({.shape = output_shape_}, projection_ ? output_shape_ : input_);
  output_ = device.AllocateActivation(output_shape_.size());
  if (!projection_) return;
  projection_->convolution.Build(device, input_gradient);
  projection_->norm.Build(device, /*input_gradient=*/true);
  if (input_gradient) sum_ = device.MakeAccumulation(input_.size());
}

const void* ResidualBlock::Forward(const void* x, const ForwardPass& pass) {
  branch_inputs_[0] = x;
  for (size_t i = 0; i < branch_.size(); ++i)
    branch_inputs_[i + 1] = branch_[i]->Forward(branch_inputs_[i], pass);
  const void* shortcut = x;
  if (projection_) {
    projection_->convolved = projection_->convolution.Forward(x, pass);
    shortcut = projection_->norm.Forward(projection_->convolved, pass);
  }
  const float* scale = pass.parameters + last_norm_->scale;
  const float* shift = pass.parameters + last_norm_->shift;
  if (pass.evaluation_statistics != nullptr) {
    end_->InferenceForward(branch_inputs_.back(), shortcut, scale, shift,
                           pass.evaluation_statistics + last_norm_->mean,
                           pass.evaluation_statistics + last_norm_->variance, output_->data());
  } else {
    end_->TrainingForward(branch_inputs_.back(), shortcut, scale, shift, output_->data(),
                          pass.running_statistics + last_norm_->mean,
                          pass.running_statistics + last_norm_->variance);
  }
  return output_->data();
}

void ResidualBlock::Backward(const void* x, void* dy, void* dx, const BackwardPass& pass) {
  // Three arrays suffice, and stay in the cache: dy is kept for the shortcut, the branch's gradient goes to
  // and fro between the other two. Without a shortcut's gradient dy need not be kept.
  void* there = pass.scratch;
  void* back = dx != nullptr ? dx : dy;
  end_->Backward(branch_inputs_.back(), pass.parameters + last_norm_->scale,
                 pass.parameters + last_norm_->shift, output_->data(), dy, there,
                 pass.gradient + last_norm_->scale, pass.gradient + last_norm_->shift);
  if (projection_) {
    // Its tensors are the block's last, and so the first to be announced. It leaves in dy what it gives to
    // dx.
    projection_->norm.Backward(projection_->convolved, dy, back, pass);
    projection_->convolution.Backward(x, back, dx != nullptr ? dy : nullptr, pass);
  }
  pass.ready(last_norm_->scale);
  for (size_t i = branch_.size(); i-- > 0;) {  // an odd number of layers, so that the last one writes dx
    branch_[i]->Backward(branch_inputs_[i], there, i > 0 || dx != nullptr ? back : nullptr, pass);
    std::swap(there, back);
  }
  if (dx == nullptr) return;
  if (projection_) {
    sum_->Add(dy, dx);
  } else {
    end_->AddShortcutGradient(dy, dx);
  }
}

std::unique_ptr<ResidualBlock> MakeBasicBlock(absl::string_view name, const ActivationShape& input,
                                              int64_t outputs, int64_t stride, ResNetSpec::Shortcut shortcut,
                                              ModelLayout& layout) {
  const std::vector<ResidualBlock::BranchConvolution> branch = {
      {.kernel = 3, .outputs = outputs, .stride = stride}, {.kernel = 3, .outputs = outputs, .stride = 1}};
  return std::make_unique<ResidualBlock>(name, input, branch, shortcut, layout);
}

std::unique_ptr<ResidualBlock> MakeBottleneckBlock(absl::string_view name, const ActivationShape& input,
                                                   int64_t inner, int64_t stride,
                                                   ResNetSpec::Shortcut shortcut, ModelLayout& layout) {
  const std::vector<ResidualBlock::BranchConvolution> branch = {
      {.kernel = 1, .outputs = inner, .stride = 1},
      {.kernel = 3, .outputs = inner, .stride = stride},
      {.kernel = 1, .outputs = ResNetSpec::kExpansion * inner, .stride = 1}};
  return std::make_unique<ResidualBlock>(name, input, branch, shortcut, layout);
}

}  // namespace ssd
