#include "common/config/reference.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_split.h"
#include "common/config/schema.h"
#include "common/io/disk.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::IsOkAndHolds;
using ::ssd::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPage[] = SSD_SOURCE_DIR "/docs/configuration.md";
constexpr char kBegin[] =
    "<!-- The tables below are made from the schema; see tests/config/reference_test.cc. -->\n";

TEST(ReferenceTest, EveryOptionHasALine) {
  const std::string reference = ConfigReference();
  for (const Option& option : Options()) {
    EXPECT_THAT(reference, ::testing::HasSubstr("| `" + option.field->name() + "` | ")) << option.path;
  }
}

TEST(ReferenceTest, NamesDefaultRangeAndNeeds) {
  EXPECT_THAT(ConfigReference(),
              ::testing::HasSubstr("| `k` | whole number | `4` | from 1 to 1000 | Delay steps: the interval "
                                   "between two pulls. Only with `sync.policy: ssd_sgd`. |\n"));
}

TEST(ReferenceTest, TheHelpOfASectionIsWrapped) {
  EXPECT_THAT(ConfigHelp("evaluation"), IsOkAndHolds(R"(evaluation: Accuracy on the test set.
  evaluation.every
        length of training, of at least 0; default 1ep
        How often; 0it: only at the end. Happens at the first version, at or after this point, that
        is pulled anyway.
)"));
}

TEST(ReferenceTest, TheHelpOfASectionHoldsTheSectionsInIt) {
  const absl::StatusOr<std::string> help = ConfigHelp("sync");
  ASSERT_OK(help);
  EXPECT_THAT(*help, HasSubstr("sync: When workers"));
  EXPECT_THAT(*help, HasSubstr("\nsync.local: What a worker does"));
  EXPECT_THAT(*help, HasSubstr("  sync.policy\n        ssgd | ssd_sgd; default ssd_sgd\n"));
  EXPECT_THAT(*help, Not(HasSubstr("cluster.workers\n")));
}

TEST(ReferenceTest, TheHelpNamesAllOptionsInAHundredColumns) {
  const absl::StatusOr<std::string> help = ConfigHelp("");
  ASSERT_OK(help);
  for (const Option& option : Options()) {
    EXPECT_THAT(*help, ::testing::HasSubstr("\n  " + option.path + "\n")) << option.path;
  }
  for (absl::string_view line : absl::StrSplit(*help, '\n')) EXPECT_LE(line.size(), 100u) << line;
}

TEST(ReferenceTest, TheHelpOfOneOptionIsItsOwn) {
  EXPECT_THAT(ConfigHelp("cluster.threads"),
              IsOkAndHolds(HasSubstr("whole number or auto, from 1 to 1024; default auto\n")));
  EXPECT_THAT(ConfigHelp("cluster.threads"), IsOkAndHolds(Not(HasSubstr("cluster.workers\n"))));
}

TEST(ReferenceTest, HelpOnWhatIsNotThereSuggestsWhatIs) {
  EXPECT_THAT(
      ConfigHelp("optimzer"),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          "--help_config: no section and no option is called \"optimzer\"; did you mean \"optimizer\"?"));
  EXPECT_THAT(ConfigHelp("sync."),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is called \"sync.\"")));
}

// With SSD_UPDATE_DOCS=1 in the environment, this test writes the tables to the page instead of comparing
// them.
TEST(ReferenceTest, ThePageHoldsTheTables) {
  absl::StatusOr<std::string> page = Disk::Real().ReadFile(kPage);
  ASSERT_OK(page);
  const size_t begin = page->find(kBegin);
  ASSERT_NE(begin, std::string::npos) << kPage << " has lost the line that the tables follow";
  const size_t tables = begin + sizeof(kBegin);  // after the line and an empty one
  const std::string expected = page->substr(0, begin) + kBegin + "\n" + ConfigReference();
  if (std::getenv("SSD_UPDATE_DOCS") != nullptr) {
    ASSERT_OK(Disk::Real().WriteWhole(kPage, expected));
    return;
  }
  EXPECT_EQ(page->substr(std::min(tables, page->size())), ConfigReference())
      << "the schema has changed: run config_test with SSD_UPDATE_DOCS=1, and commit the page";
}

}  // namespace
}  // namespace ssd
