#include "models/basic_block.h"

#include "absl/strings/str_cat.h"

namespace ssd {

BasicBlock::BasicBlock(absl::string_view name, const ActivationShape& input, int64_t outputs, int64_t stride,
                       ModelLayout& layout)
    : input_(input),
      conv1_(absl::StrCat(name, ".conv1"),
             {.input = input, .outputs = outputs, .kernel = 3, .stride = stride, .padding = 1}, layout),
      bn1_(absl::StrCat(name, ".bn1"), conv1_.output_shape(), /*relu=*/true, layout),
      conv2_(absl::StrCat(name, ".conv2"),
             {.input = conv1_.output_shape(), .outputs = outputs, .kernel = 3, .stride = 1, .padding = 1},
             layout),
      bn2_(absl::StrCat(name, ".bn2"), outputs, layout) {}

void BasicBlock::Build(Device& device, bool input_gradient) {
  conv1_.Build(device, input_gradient);
  bn1_.Build(device, /*input_gradient=*/true);
  conv2_.Build(device, /*input_gradient=*/true);
  end_ = device.MakeResidualNorm({.shape = output_shape()}, input_);
  output_ = device.Allocate(output_shape().size());
}

const float* BasicBlock::Forward(const float* x, const ForwardPass& pass) {
  conv1_output_ = conv1_.Forward(x, pass);
  bn1_output_ = bn1_.Forward(conv1_output_, pass);
  conv2_output_ = conv2_.Forward(bn1_output_, pass);
  const float* scale = pass.parameters + bn2_.scale;
  const float* shift = pass.parameters + bn2_.shift;
  if (pass.evaluation_statistics != nullptr) {
    end_->InferenceForward(conv2_output_, x, scale, shift, pass.evaluation_statistics + bn2_.mean,
                           pass.evaluation_statistics + bn2_.variance, output_->data());
  } else {
    end_->TrainingForward(conv2_output_, x, scale, shift, output_->data(),
                          pass.running_statistics + bn2_.mean, pass.running_statistics + bn2_.variance);
  }
  return output_->data();
}

void BasicBlock::Backward(const float* x, float* dy, float* dx, const BackwardPass& pass) {
  // Three arrays suffice, and stay in the cache: dy is kept for the shortcut, the branch's gradient goes to
  // and fro between the other two. Without a shortcut's gradient dy need not be kept.
  float* const there = pass.scratch;
  float* const back = dx != nullptr ? dx : dy;
  end_->Backward(conv2_output_, pass.parameters + bn2_.scale, pass.parameters + bn2_.shift, output_->data(),
                 dy, there, pass.gradient + bn2_.scale, pass.gradient + bn2_.shift);
  pass.ready(bn2_.scale);
  conv2_.Backward(bn1_output_, there, back, pass);
  bn1_.Backward(conv1_output_, back, there, pass);
  conv1_.Backward(x, there, dx, pass);
  if (dx != nullptr) end_->AddShortcutGradient(dy, dx);
}

}  // namespace ssd
