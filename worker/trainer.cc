#include "worker/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/interval.h"
#include "common/logging.h"

namespace ssd {

Trainer::Trainer(Options options, Model& model, BatchSource& batches, Evaluator* evaluator,
                 ParameterClient& client, std::shared_ptr<const SyncSchedule> schedule,
                 LocalUpdate* local_update, Clock& clock)
    : options_(std::move(options)),
      model_(model),
      batches_(batches),
      evaluator_(evaluator),
      client_(client),
      schedule_(std::move(schedule)),
      local_update_(local_update),
      clock_(clock),
      pusher_(client, schedule_),
      averaged_buffers_(model.buffers().size()) {
  model.memory().Download(model.buffers().data(), averaged_buffers_);
  // Weights go on to the device as they come; running statistics stay.
  client.set_on_arrival([&memory = model.memory()](const Block& block, Buffer values) {
    return block.kind == Block::Kind::kParameters ? memory.Stage(std::move(values)) : values;
  });
}

v1::Hello Trainer::Hello() const {
  v1::Hello hello;
  hello.set_samples_per_epoch(static_cast<uint64_t>(options_.samples_per_epoch));
  const auto describe = [](const ParameterLayout& layout, auto* tensors) {
    for (const TensorSpec& spec : layout.tensors()) {
      v1::Hello::Tensor* tensor = tensors->Add();
      tensor->set_name(spec.name);
      for (const int64_t dimension : spec.shape) tensor->add_shape(static_cast<uint64_t>(dimension));
    }
  };
  describe(model_.layout().parameters, hello.mutable_parameters());
  describe(model_.layout().buffers, hello.mutable_buffers());
  for (const auto& [name, value] : options_.fields) {
    v1::Hello::Field* field = hello.add_fields();
    field->set_name(name);
    field->set_value(value);
  }
  return hello;
}

void Trainer::Start(Finished finished) {
  finished_ = std::move(finished);
  client_.Join(Hello(), [this] { OnJoined(); });
}

void Trainer::OnJoined() {
  const std::vector<Block>& blocks = client_.partition().blocks();
  if (options_.worker == WorkerId(0)) {
    // Running statistics first: who has the version 0 of a shard's weights may push statistics to it.
    for (const Block::Kind kind : {Block::Kind::kBuffers, Block::Kind::kParameters}) {
      const std::span<const float> from =
          kind == Block::Kind::kBuffers ? model_.buffers() : model_.parameters();
      for (const Block& block : blocks) {
        if (block.kind != kind) continue;
        MutableBuffer values = MutableBuffer::Allocate(block.size);
        model_.memory().Download(from.data() + block.offset, values.values());
        client_.SendInitial(block.id, std::move(values).Freeze());
      }
    }
  }
  std::vector<BlockId> parameters;
  for (const Block& block : blocks) {
    if (block.kind == Block::Kind::kParameters) parameters.push_back(block.id);
  }
  // All replicas, worker 0's too, start from what the servers have.
  client_.Pull(Version(0), parameters);
  pulling_[Version(0)] = Step(0);
  AwaitPull(Version(0), [this] {
    tally_ = Tally{.since = clock_.Steady(), .before = client_.traffic()};
    BeginStep(Step(0));
  });
}

void Trainer::BeginStep(Step step) {
  phase_start_ = clock_.Steady();
  batches_.Get(step, [this, step, alive = std::weak_ptr<bool>(alive_)](const Batch& batch) {
    if (!alive.expired()) OnBatch(step, batch);
  });
}

void Trainer::OnBatch(Step step, const Batch& batch) {
  if (client_.ending()) return;
  const absl::Duration now = clock_.Steady();
  tally_.data += absl::ToDoubleSeconds(now - phase_start_);
  phase_start_ = now;
  pushing_ = absl::ZeroDuration();
  statistics_pushed_ = false;
  model_.Train(
      batch, pusher_.Begin(step),
      [this, step, alive = std::weak_ptr<bool>(alive_)](int64_t first) {
        if (!alive.expired()) OnReady(step, first);
      },
      [this, step, alive = std::weak_ptr<bool>(alive_)](const BatchResult& result) {
        if (!alive.expired()) OnGradient(step, result);
      });
}

void Trainer::OnReady(Step step, int64_t first) {
  const absl::Duration before = clock_.Steady();
  // The statistics go ahead of the gradients: who has a shard's new weights then knows that it has the statistics of
  // all workers too, though nobody awaits those.
  if (!std::exchange(statistics_pushed_, true)) pusher_.PushBuffers(step, model_);
  pusher_.OnReady(first);
  pushing_ += clock_.Steady() - before;
}

void Trainer::OnGradient(Step step, const BatchResult& result) {
  if (client_.ending()) return;
  tally_.compute += absl::ToDoubleSeconds(clock_.Steady() - phase_start_ - pushing_);
  tally_.push += absl::ToDoubleSeconds(pushing_);
  tally_.result.loss += result.loss;
  tally_.result.correct += result.correct;
  tally_.result.samples += result.samples;
  if (!std::isfinite(result.loss)) {
    return client_.End({.code = kExitDiverged,
                        .message = absl::StrCat("the loss of worker ", options_.worker.value(), " at step ",
                                                step.value(), " is not finite (", result.loss, ")")});
  }
  AfterGradient(step);
}

void Trainer::AfterGradient(Step step) {
  if (schedule_->IsSynchronous(step)) {
    if (local_update_ != nullptr) {
      for (int64_t i = 0; i < client_.partition().num_parameter_blocks(); ++i) {
        const Block& block = client_.partition().block(BlockId(i));
        local_update_->AfterSynchronousGradient(block.id, BlockOf(block),
                                                model_.gradient().subspan(block.offset, block.size));
      }
    }
    StartPull(step);
    return AwaitPull(Version(step.value() + 1), [this, step] { EndStep(step); });
  }
  const bool awaited = !pulling_.empty() && pulling_.begin()->second == step;
  if (!awaited) return UpdateLocally(step);
  AwaitPull(pulling_.begin()->first, [this, step] { UpdateLocally(step); });
}

void Trainer::UpdateLocally(Step step) {
  const absl::Duration before = clock_.Steady();
  for (int64_t i = 0; i < client_.partition().num_parameter_blocks(); ++i) {
    const Block& block = client_.partition().block(BlockId(i));
    local_update_->Apply(block.id, step, model_.gradient().subspan(block.offset, block.size), BlockOf(block));
  }
  tally_.local_update += absl::ToDoubleSeconds(clock_.Steady() - before);
  StartPull(step);
  const Version version(step.value() + 1);
  const auto pull = pulling_.find(version);
  if (pull != pulling_.end() && pull->second == step)
    return AwaitPull(version, [this, step] { EndStep(step); });
  EndStep(step);
}

void Trainer::StartPull(Step step) {
  const Version version(step.value() + 1);
  std::vector<BlockId> blocks;
  for (const Block& block : client_.partition().blocks()) {
    // Running statistics are for evaluation and export; training does not read them.
    if (block.kind == Block::Kind::kBuffers && !schedule_->IsEvaluated(version)) continue;
    if (schedule_->PullsAfter(step, block.id)) blocks.push_back(block.id);
  }
  if (blocks.empty()) return;
  client_.Pull(version, blocks);
  pulling_[version] = schedule_->AwaitedIn(version);
}

void Trainer::AwaitPull(Version version, absl::AnyInvocable<void()> then) {
  phase_start_ = clock_.Steady();
  client_.Await(version, [this, then = std::move(then)](
                             Version version, std::vector<ParameterClient::PulledBlock> blocks) mutable {
    tally_.wait += absl::ToDoubleSeconds(clock_.Steady() - phase_start_);
    pulling_.erase(version);
    Install(version, std::move(blocks));
    if (schedule_->IsEvaluated(version)) Evaluate(version);
    then();
  });
}

void Trainer::Install(Version version, std::vector<ParameterClient::PulledBlock> blocks) {
  const absl::Duration before = clock_.Steady();
  for (ParameterClient::PulledBlock& pulled : blocks) {
    const Block& block = client_.partition().block(pulled.id);
    if (block.kind == Block::Kind::kBuffers) {
      const std::span<const float> values = pulled.values.values();
      std::copy(values.begin(), values.end(), averaged_buffers_.begin() + block.offset);
      continue;
    }
    if (local_update_ != nullptr) {
      local_update_->Install(block.id, version, std::move(pulled.values), BlockOf(block));
    } else {
      model_.memory().Copy(pulled.values.values(), BlockOf(block));
    }
  }
  tally_.local_update += absl::ToDoubleSeconds(clock_.Steady() - before);
}

void Trainer::Evaluate(Version version) {
  if (evaluator_ == nullptr) return;
  const absl::Duration before = clock_.Steady();
  VLOG(1) << "evaluating version=" << version;
  const BatchResult result = evaluator_->Evaluate(model_, averaged_buffers_);
  if (!std::isfinite(result.loss)) {
    return client_.End({.code = kExitDiverged,
                        .message = absl::StrCat("the test loss of version ", version.value(),
                                                " is not finite (", result.loss, ")")});
  }
  v1::Evaluated evaluated;
  evaluated.set_version(static_cast<uint64_t>(version.value()));
  evaluated.set_loss_sum(result.loss);
  evaluated.set_correct(static_cast<uint64_t>(result.correct));
  evaluated.set_samples(static_cast<uint64_t>(result.samples));
  client_.Send(evaluated);
  VLOG(1) << "evaluated version=" << version;
  tally_.since += clock_.Steady() - before;  // an evaluation is no part of the training's speed
}

void Trainer::EndStep(Step step) {
  ++tally_.steps;
  const bool is_due = ReachesPoint(options_.report_interval, step.value(), step.value() + 1);
  if (is_due || step + 1 == schedule_->end()) Report(step);
  if (step_done_ != nullptr) step_done_(step);
  if (client_.ending()) return;
  if (step + 1 < schedule_->end()) return BeginStep(step + 1);
  if (pulling_.empty()) return Finish();
  AwaitPull(schedule_->last_version(), [this] { Finish(); });
}

void Trainer::Report(Step step) {
  const absl::Duration now = clock_.Steady();
  v1::Report report;
  report.set_step(static_cast<uint64_t>(step.value() + 1));
  report.set_steps(static_cast<uint64_t>(tally_.steps));
  report.set_loss_sum(tally_.result.loss);
  report.set_correct(static_cast<uint64_t>(tally_.result.correct));
  report.set_samples(static_cast<uint64_t>(tally_.result.samples));
  report.set_seconds(absl::ToDoubleSeconds(now - tally_.since));
  report.set_data_seconds(tally_.data);
  report.set_compute_seconds(tally_.compute);
  report.set_local_update_seconds(tally_.local_update);
  report.set_push_seconds(tally_.push);
  report.set_wait_seconds(tally_.wait);
  report.set_bytes_pushed(client_.traffic().bytes_pushed - tally_.before.bytes_pushed);
  report.set_bytes_pulled(client_.traffic().bytes_pulled - tally_.before.bytes_pulled);
  client_.Send(report);
  tally_ = Tally{.since = now, .before = client_.traffic()};
  if (on_report_ == nullptr) return;
  if (const absl::Status status = on_report_(report); !status.ok())
    client_.End({.code = kExitStorage, .message = std::string(status.message())});
}

void Trainer::Finish() {
  if (client_.ending()) return;
  client_.End(finished_(averaged_buffers_));
}

}  // namespace ssd
