#include "worker/gradient_pusher.h"

#include <algorithm>
#include <utility>

#include "common/logging.h"

namespace ssd {

GradientPusher::GradientPusher(ParameterClient& client, std::shared_ptr<const SyncSchedule> schedule)
    : client_(client), schedule_(std::move(schedule)) {
  if (schedule_->options().push == SyncScheduleOptions::Push::kEveryPeriod) {
    const Partition& partition = client.partition();
    period_sum_.resize(partition.block(BlockId(partition.num_parameter_blocks() - 1)).end());
    in_period_.resize(partition.num_parameter_blocks(), false);
  }
}

std::span<float> GradientPusher::Begin(Step step) {
  const Partition& partition = client_.partition();
  step_ = step;
  next_block_ = partition.num_parameter_blocks() - 1;
  gradient_ = Buffer();
  MutableBuffer fresh = pool_.Acquire(partition.block(BlockId(next_block_)).end());
  writable_ = fresh.values();
  gradient_ = std::move(fresh).Freeze();
  return writable_;
}

void GradientPusher::OnReady(int64_t first) {
  for (; next_block_ >= 0; --next_block_) {
    const Block& block = client_.partition().block(BlockId(next_block_));
    if (block.offset < first) break;
    Push(block);
  }
}

void GradientPusher::Push(const Block& block) {
  const std::optional<StepRange> covers = schedule_->PushAfter(step_, block.id);
  if (covers.has_value() && covers->size() == 1) {
    client_.Push(block.id, step_, gradient_.Slice(block.offset, block.size));
    return;
  }
  const std::span<const float> gradient = gradient_.values().subspan(block.offset, block.size);
  const std::span<float> sum = std::span(period_sum_).subspan(block.offset, block.size);
  if (!in_period_[block.id.value()]) {
    std::copy(gradient.begin(), gradient.end(), sum.begin());
  } else {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
  }
  in_period_[block.id.value()] = !covers.has_value();
  if (!covers.has_value()) return;

  MutableBuffer mean = pool_.Acquire(block.size);
  const float steps = static_cast<float>(covers->size());
  for (size_t i = 0; i < sum.size(); ++i) mean.values()[i] = sum[i] / steps;
  client_.Push(block.id, step_, std::move(mean).Freeze());
}

void GradientPusher::PushBuffers(Step step, Model& model) {
  const std::vector<Block>& blocks = client_.partition().blocks();
  for (size_t i = client_.partition().num_parameter_blocks(); i < blocks.size(); ++i) {
    if (!schedule_->PullsAfter(step, blocks[i].id)) continue;
    MutableBuffer copy = pool_.Acquire(blocks[i].size);
    model.memory().Download(model.buffers().data() + blocks[i].offset, copy.values());
    client_.Push(blocks[i].id, step, std::move(copy).Freeze());
  }
}

}  // namespace ssd
