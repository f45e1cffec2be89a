#include "worker/data/evaluation_stripe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ssd {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// Images of one grey pixel: image i shows 51 i, which normalises to i / 5, and has label i.
ImageSet Numbered(int64_t count) {
  ImageSet set;
  set.shape = {.height = 1, .width = 1, .channels = 1};
  for (int64_t i = 0; i < count; ++i) {
    set.pixels.push_back(static_cast<uint8_t>(51 * i));
    set.labels.push_back(static_cast<int32_t>(i));
  }
  return set;
}

TEST(EvaluationStripeTest, PadsTheLastBatchToTheFixedSize) {
  const ImageSet set = Numbered(5);
  EvaluationStripe stripe(set, WorkerId(0), /*workers=*/1, /*batch_size=*/3);
  EXPECT_EQ(stripe.size(), 5);
  ASSERT_EQ(stripe.num_batches(), 2);
  const Batch first = stripe.Read(0);
  EXPECT_EQ(first.valid, 3);
  EXPECT_THAT(first.labels, ElementsAre(0, 1, 2));
  EXPECT_THAT(first.images, ElementsAre(0.0f, 0.2f, 0.4f));
  const Batch last = stripe.Read(1);
  EXPECT_EQ(last.valid, 2);
  EXPECT_THAT(last.labels, ElementsAre(3, 4, 0));
  EXPECT_THAT(last.images, ElementsAre(0.6f, 0.8f, 0.0f));
}

TEST(EvaluationStripeTest, StripesAreTheIntegerParts) {
  const ImageSet set = Numbered(5);
  EXPECT_EQ(EvaluationStripe(set, WorkerId(0), 2, 4).size(), 2);  // 0 .. 5/2
  EXPECT_EQ(EvaluationStripe(set, WorkerId(1), 2, 4).size(), 3);
  EXPECT_THAT(EvaluationStripe(set, WorkerId(1), 2, 4).Read(0).labels, ElementsAre(2, 3, 4, 0));
}

TEST(EvaluationStripeTest, EveryImageCountsOnceWhateverTheWorkersAndTheBatch) {
  const ImageSet set = Numbered(101);
  int64_t right_of_all = 0;  // of a model that finds even labels
  for (int32_t label : set.labels) right_of_all += label % 2 == 0;
  for (int64_t workers : {1, 2, 3, 7, 100, 150}) {
    for (int64_t batch_size : {1, 4, 33, 200}) {
      std::vector<int32_t> seen;
      int64_t right = 0;
      for (int64_t i = 0; i < workers; ++i) {
        EvaluationStripe stripe(set, WorkerId(i), workers, batch_size);
        for (int64_t b = 0; b < stripe.num_batches(); ++b) {
          const Batch& batch = stripe.Read(b);
          EXPECT_THAT(batch.labels, SizeIs(batch_size));
          EXPECT_THAT(batch.images, SizeIs(batch_size));
          EXPECT_GE(batch.valid, 1);
          for (int64_t k = 0; k < batch.valid; ++k) {
            seen.push_back(batch.labels[k]);
            right += batch.labels[k] % 2 == 0;
          }
        }
      }
      EXPECT_EQ(seen, set.labels) << "workers=" << workers << " batch=" << batch_size;
      EXPECT_EQ(right, right_of_all) << "workers=" << workers << " batch=" << batch_size;
    }
  }
}

TEST(EvaluationStripeTest, AWorkerWithoutImagesHasNoBatches) {
  const ImageSet set = Numbered(2);
  EXPECT_EQ(EvaluationStripe(set, WorkerId(0), /*workers=*/3, /*batch_size=*/4).num_batches(), 0);
}

}  // namespace
}  // namespace ssd
