#include "common/suggestion.h"

#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::testing::Optional;

TEST(SuggestionTest, EditDistanceCountsSingleChanges) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("abc", "abc"), 0u);
  EXPECT_EQ(EditDistance("abc", "abd"), 1u);   // replaced
  EXPECT_EQ(EditDistance("abc", "ac"), 1u);    // left out
  EXPECT_EQ(EditDistance("abc", "abxc"), 1u);  // inserted
  EXPECT_EQ(EditDistance("abc", "acb"), 1u);   // swapped
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(SuggestionTest, TheNearestWinsAndTheFirstAmongEquals) {
  EXPECT_THAT(Nearest("momentun", {"moment", "momentum"}), Optional(std::string("momentum")));
  EXPECT_THAT(Nearest("abcx", {"abcy", "abcz"}), Optional(std::string("abcy")));
}

TEST(SuggestionTest, CaseAndDashesDoNotCount) {
  EXPECT_THAT(Nearest("LR", {"kr", "lr"}), Optional(std::string("lr")));
  EXPECT_THAT(Nearest("weight-decay", {"weight_decay"}), Optional(std::string("weight_decay")));
}

TEST(SuggestionTest, WhatIsTooFarIsNotSuggested) {
  EXPECT_EQ(Nearest("xyz", {"lr", "momentum"}), std::nullopt);
  EXPECT_EQ(Nearest("k", {"q"}), std::nullopt);
  EXPECT_EQ(Nearest("", {"a"}), std::nullopt);
  EXPECT_EQ(Nearest("a", {}), std::nullopt);
  EXPECT_EQ(Nearest(std::string(100, 'a'), {std::string(100, 'a')}), std::nullopt);
}

}  // namespace
}  // namespace ssd
