#include "worker/data/prefetch.h"

#include <pthread.h>

#include <utility>

#include "common/logging.h"

namespace ssd {

PrefetchingBatchSource::PrefetchingBatchSource(const ImageSet& images, const DataOrder& order,
                                               const Options& options, Executor& executor)
    : options_(options),
      executor_(executor),
      batches_(images, order, options.worker, options.augment),
      slots_(options.depth),
      life_(std::make_shared<const bool>(true)),
      made_(options.steps.first),
      wanted_(options.steps.first) {
  CHECK_GE(options.depth, 2);
  CHECK(options.steps.first >= Step(0) && options.steps.first <= options.steps.end)
      << "steps=" << options.steps.first << ".." << options.steps.end;
  for (Slot& slot : slots_) {
    slot.images.resize(batches_.batch_floats());
    slot.labels.resize(batches_.batch_size());
    slot.batch = {.images = slot.images, .labels = slot.labels, .valid = batches_.batch_size()};
  }
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "prefetch");
    Run();
  });
}

PrefetchingBatchSource::~PrefetchingBatchSource() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  room_.NotifyOne();
  thread_.join();
}

void PrefetchingBatchSource::Get(Step step, Callback ready) {
  Callback now;  // `ready`, where the step is made already
  {
    MutexLock lock(&mutex_);
    CHECK_EQ(step, asked_ ? wanted_ + 1 : options_.steps.first);
    CHECK_LT(step, options_.steps.end);
    CHECK(waiting_ == nullptr) << "step " << step - 1 << " has not been delivered yet";
    asked_ = true;
    wanted_ = step;
    (step < made_ ? now : waiting_) = std::move(ready);
  }
  room_.NotifyOne();
  if (now != nullptr) Deliver(step, std::move(now));
}

void PrefetchingBatchSource::Deliver(Step step, Callback ready) {
  executor_.Post([life = std::weak_ptr<const bool>(life_), batch = &SlotOf(step).batch,
                  ready = std::move(ready)]() mutable {
    if (!life.expired()) ready(*batch);
  });
}

void PrefetchingBatchSource::Run() {
  for (Step step = options_.steps.first; step < options_.steps.end; ++step) {
    {
      MutexLock lock(&mutex_);
      while (!stopping_ && step - wanted_ >= options_.depth) room_.Wait(&mutex_);
      if (stopping_) return;
    }
    Slot& slot = SlotOf(step);
    batches_.Make(step, slot.images, slot.labels);
    Callback ready;
    {
      MutexLock lock(&mutex_);
      if (stopping_) return;
      made_ = step + 1;
      if (wanted_ == step) ready = std::exchange(waiting_, nullptr);
    }
    if (ready != nullptr) Deliver(step, std::move(ready));
  }
}

}  // namespace ssd
