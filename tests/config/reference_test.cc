#include "common/config/reference.h"

#include <algorithm>
#include <cstdlib>

#include "common/config/schema.h"
#include "common/io/disk.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

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
