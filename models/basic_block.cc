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
      bn2_(absl::StrCat(name, ".bn2"), conv2_.output_shape(), /*relu=*/false, layout) {}

void BasicBlock::Build(Device& device, bool input_gradient) {
  conv1_.Build(device, input_gradient);
  bn1_.Build(device, true);
  conv2_.Build(device, true);
  bn2_.Build(device, true);
  add_ = device.MakeResidualAdd(input_, output_shape());
}

const float* BasicBlock::Forward(const float* x, const ForwardPass& pass) {
  conv1_output_ = conv1_.Forward(x, pass);
  bn1_output_ = bn1_.Forward(conv1_output_, pass);
  conv2_output_ = conv2_.Forward(bn1_output_, pass);
  bn2_.Forward(conv2_output_, pass);
  add_->Forward(x, bn2_.mutable_output());  // nobody needs bn2's own output again
  return bn2_.mutable_output();
}

void BasicBlock::Backward(const float* x, float* dy, float* dx, const BackwardPass& pass) {
  // Three arrays suffice, and stay in the cache: dy is kept for the shortcut, the branch goes between the
  // other two.
  float* const there = pass.scratch;
  float* const back = dx != nullptr ? dx : dy;
  add_->Backward(bn2_.mutable_output(), dy);
  bn2_.Backward(conv2_output_, dy, there, pass);
  conv2_.Backward(bn1_output_, there, back, pass);
  bn1_.Backward(conv1_output_, back, there, pass);
  conv1_.Backward(x, there, dx, pass);
  if (dx != nullptr) add_->AddShortcutGradient(dy, dx);
}

}  // namespace ssd
