#include "common/flags.h"

#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::IsOkAndHolds;
using ::ssd::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

const CommandLine& Line() {
  static const CommandLine& line = *new CommandLine{
      .program = "ssd-test",
      .usage = "[flags] experiment.yaml",
      .description = "Does a test's work.",
      .flags = {{.name = "id", .value = "N", .doc = "Which one this is.", .group = "Cluster"},
                {.name = "set",
                 .value = "KEY=VALUE",
                 .doc = "Changes one option.",
                 .repeated = true,
                 .group = "Configuration"},
                {.name = "print_config", .doc = "Prints the resolved file.", .group = "Configuration"},
                {.name = "help_config",
                 .value = "SECTION",
                 .doc = "Explains options.",
                 .optional = true,
                 .group = "Configuration"}},
      .examples = {"ssd-test --id 0 a.yaml"},
      .max_positional = 1};
  return line;
}

absl::StatusOr<ParsedFlags> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "ssd-test");
  return ParseFlags(Line(), static_cast<int>(arguments.size()), arguments.data());
}

TEST(FlagsTest, NothingGivenIsNothingSet) {
  const absl::StatusOr<ParsedFlags> flags = Parse({});
  ASSERT_OK(flags);
  EXPECT_FALSE(flags->Has("id"));
  EXPECT_EQ(flags->Value("id"), std::nullopt);
  EXPECT_FALSE(flags->IsOn("print_config"));
  EXPECT_THAT(flags->Values("set"), IsEmpty());
  EXPECT_THAT(flags->positional(), IsEmpty());
  EXPECT_OK(ParseFlags(Line(), 0, nullptr));
}

TEST(FlagsTest, ValuesFollowAnEqualsSignOrABlank) {
  const absl::StatusOr<ParsedFlags> flags = Parse({"--set=a=1", "x.yaml", "--set", "b=2", "--id", "-3"});
  ASSERT_OK(flags);
  EXPECT_THAT(flags->Values("set"), ElementsAre("a=1", "b=2"));
  EXPECT_THAT(flags->positional(), ElementsAre("x.yaml"));
  EXPECT_THAT(flags->Value("id"), Optional(std::string("-3")));
}

TEST(FlagsTest, ASwitchTakesNoValueOrTrueOrFalse) {
  EXPECT_TRUE(Parse({"--print_config"})->IsOn("print_config"));
  EXPECT_TRUE(Parse({"--print_config=true"})->IsOn("print_config"));
  const absl::StatusOr<ParsedFlags> off = Parse({"--print_config=false", "a"});
  ASSERT_OK(off);
  EXPECT_FALSE(off->IsOn("print_config"));
  EXPECT_TRUE(off->Has("print_config"));
  EXPECT_THAT(Parse({"--print_config", "true"})->positional(), ElementsAre("true"));
}

TEST(FlagsTest, AnOptionalValueFollowsAnEqualsSignOrIsEmpty) {
  EXPECT_THAT(Parse({"--help_config=sync"})->Value("help_config"), Optional(std::string("sync")));
  const absl::StatusOr<ParsedFlags> flags = Parse({"--help_config", "a.yaml"});
  ASSERT_OK(flags);
  EXPECT_THAT(flags->Value("help_config"), Optional(std::string()));
  EXPECT_THAT(flags->positional(), ElementsAre("a.yaml"));
}

TEST(FlagsTest, TwoDashesEndTheFlags) {
  EXPECT_THAT(Parse({"--", "--id"})->positional(), ElementsAre("--id"));
  EXPECT_THAT(Parse({"-"})->positional(), ElementsAre("-"));
}

TEST(FlagsTest, HelpAndVersionWorkBesideWhateverFollows) {
  EXPECT_TRUE(Parse({"--help", "--bogus"})->IsOn("help"));
  EXPECT_TRUE(Parse({"-h"})->IsOn("help"));
  EXPECT_TRUE(Parse({"a.yaml", "--version"})->IsOn("version"));
}

TEST(FlagsTest, MistakesAreNamed) {
  const struct {
    std::vector<const char*> arguments;
    const char* error;
  } cases[] = {
      {{"--print-config"}, "unknown flag --print-config; did you mean --print_config?"},
      {{"-print_config"}, "unknown flag -print_config; did you mean --print_config?"},
      {{"--sett=a"}, "unknown flag --sett; did you mean --set?"},
      {{"--frobnicate"}, "unknown flag --frobnicate; --help lists all flags"},
      {{"-x"}, "unknown flag -x; --help lists all flags"},
      {{"--=1"}, "unknown flag --; --help lists all flags"},
      {{"--id"}, "--id needs a value: --id N"},
      {{"--id", "--set"}, "--id needs a value: --id N"},
      {{"--id=1", "--id", "2"}, "--id is given twice: \"1\" and \"2\""},
      {{"--print_config=yes"}, "--print_config: got \"yes\", want true or false, or no value at all"},
      {{"a", "b"}, "unexpected argument \"b\"; usage: ssd-test [flags] experiment.yaml"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Parse(c.arguments), StatusIs(absl::StatusCode::kInvalidArgument, c.error));
  }
}

TEST(FlagsTest, IntegersAreCheckedAsWholes) {
  EXPECT_THAT(Parse({"--id=7"})->Integer("id", 0, 7), IsOkAndHolds(Optional(int64_t{7})));
  EXPECT_THAT(Parse({})->Integer("id", 0, 7), IsOkAndHolds(Eq(std::nullopt)));
  for (const char* wrong : {"--id=8", "--id=-1", "--id=", "--id=1x", "--id=0x1", "--id=1.0", "--id= 1"}) {
    EXPECT_THAT(Parse({wrong})->Integer("id", 0, 7),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("want a whole number from 0 to 7")))
        << wrong;
  }
}

TEST(FlagsTest, AFlagThatAnotherMakesIdleIsNamedWithIt) {
  EXPECT_OK(Parse({"--set=a=1"})->Excludes("id", {"set"}));
  EXPECT_OK(Parse({"--id=1", "--set=a=1"})->Excludes("id", {"print_config"}));
  EXPECT_THAT(Parse({"--id=1", "--set=a=1"})->Excludes("id", {"print_config", "set"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "--set has no effect with --id"));
}

TEST(FlagsTest, HelpShowsUsageGroupsAndExamples) {
  EXPECT_EQ(HelpText(Line()), R"(Usage: ssd-test [flags] experiment.yaml

Does a test's work.

Cluster:
  --id=N
        Which one this is.

Configuration:
  --set=KEY=VALUE  (may be repeated)
        Changes one option.
  --print_config
        Prints the resolved file.
  --help_config[=SECTION]
        Explains options.

About:
  --help
        Prints this text and exits.
  --version
        Prints the versions of this program and its libraries, and exits.

Examples:
  ssd-test --id 0 a.yaml
)");
}

TEST(FlagsTest, HelpBreaksLongLinesBetweenWords) {
  CommandLine line{.program = "p", .description = std::string(60, 'a') + " " + std::string(39, 'b') + " c"};
  EXPECT_THAT(HelpText(line), HasSubstr("\n" + std::string(60, 'a') + " " + std::string(39, 'b') + "\nc\n"));
}

}  // namespace
}  // namespace ssd
