#include "models/cuda/softmax_cross_entropy.h"

#include "common/logging.h"

namespace ssd {
namespace {

using Place = CudaRuntime::Place;

}  // namespace

CudaSoftmaxCrossEntropy::CudaSoftmaxCrossEntropy(const CudaContext& context, int64_t batch, int64_t classes)
    : context_(context),
      batch_(batch),
      classes_(classes),
      samples_(context.runtime, Place::kDevice, batch * static_cast<int64_t>(sizeof(SampleResult))),
      sums_(context.runtime, Place::kDevice, sizeof(BatchSums)),
      arrived_(context.runtime, Place::kPinned, sizeof(BatchSums)),
      arrival_(context.runtime.NewEvent()) {}

void CudaSoftmaxCrossEntropy::Forward(const float* logits, const int32_t* labels, int64_t valid) {
  CHECK(0 <= valid && valid <= batch_) << valid;
  valid_ = valid;
  const std::span<SampleResult> samples = WrittenValues<SampleResult>(samples_.data(), batch_);
  const std::span<BatchSums> sums = WrittenValues<BatchSums>(sums_.data(), 1);
  context_.runtime.Launch(CudaStream::kCompute, "cross entropy",
                          {Reads(ReadValues<float>(logits, batch_ * classes_)),
                           Reads(ReadValues<int32_t>(labels, batch_)), Writes(samples), Writes(sums)},
                          [&](const KernelStream& to) {
                            LaunchSoftmaxCrossEntropy<float>(to, {.batch = batch_,
                                                                  .valid = valid,
                                                                  .classes = static_cast<int>(classes_),
                                                                  .logits = logits,
                                                                  .labels = labels,
                                                                  .results = samples.data()});
                            LaunchBatchSummation(to, samples, sums.data());
                          });
  context_.runtime.Copy(CudaStream::kCompute, arrived_.data(), sums_.data(), sizeof(BatchSums));
  context_.runtime.Record(arrival_, CudaStream::kCompute);
}

BatchResult CudaSoftmaxCrossEntropy::Result() {
  context_.runtime.Await(arrival_);
  const auto& sums = *static_cast<const BatchSums*>(arrived_.data());
  return {.loss = sums.loss, .correct = sums.top_1, .samples = valid_};
}

void CudaSoftmaxCrossEntropy::Backward(const float* logits, const int32_t* labels, void* dlogits) {
  WithValueType(context_.precision, [&]<typename T>(T*) {
    const std::span<SampleResult> samples = WrittenValues<SampleResult>(samples_.data(), batch_);
    const std::span<T> gradient = WrittenValues<T>(dlogits, batch_ * classes_);
    context_.runtime.Launch(CudaStream::kCompute, "cross entropy, backward",
                            {Reads(ReadValues<float>(logits, batch_ * classes_)),
                             Reads(ReadValues<int32_t>(labels, batch_)), Writes(samples), Writes(gradient)},
                            [&](const KernelStream& to) {
                              LaunchSoftmaxCrossEntropy<T>(to, {.batch = batch_,
                                                                .valid = batch_,
                                                                .classes = static_cast<int>(classes_),
                                                                .logits = logits,
                                                                .labels = labels,
                                                                .dlogits = gradient.data(),
                                                                .results = samples.data()});
                            });
  });
}

}  // namespace ssd
