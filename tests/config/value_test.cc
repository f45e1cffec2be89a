#include "common/config/value.h"

#include <limits>

#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::StatusIs;
using ::testing::HasSubstr;

// The field's text after parsing `text` into it.
absl::StatusOr<std::string> Parsed(const std::string& path, const std::string& text, bool quoted = false) {
  const Option& option = *FindOption(path);
  v1::Experiment experiment;
  google::protobuf::Message* const parent = option.MutableParent(&experiment);
  const absl::Status status = ParseValue(option, text, quoted, parent);
  if (!status.ok()) return status;
  return FormatValue(option, *parent);
}

TEST(ValueTest, WhatIsWrittenIsWhatIsSet) {
  const struct {
    const char* option;
    const char* text;
    const char* printed;
  } cases[] = {
      {"optimizer.lr", "0.1", "0.1"},
      {"optimizer.lr", "1e-4", "1e-4"},
      {"optimizer.lr", "1.0e-4", "1e-4"},
      {"optimizer.lr", "1E-4", "1e-4"},
      {"optimizer.lr", "2e-5", "2e-5"},
      {"optimizer.lr", ".5", "0.5"},
      {"optimizer.lr", "1e2", "100"},
      {"optimizer.momentum", "-0", "0"},
      {"optimizer.lr", "0.30000000000000004", "0.30000000000000004"},
      {"seed", "18446744073709551615", "18446744073709551615"},
      {"seed", "0", "0"},
      {"sync.k", "1000", "1000"},
      {"data.augment", "false", "false"},
      {"sync.policy", "ssgd", "ssgd"},
      {"training.duration", "10ep", "10ep"},
      {"training.duration", "2.5ep", "2.5ep"},
      {"training.duration", "1e3ep", "1000ep"},
      {"training.duration", "500it", "500it"},
      {"training.duration", "1000000000000it", "1000000000000it"},
      {"cluster.peer_timeout", "30s", "30s"},
      {"cluster.peer_timeout", "1500ms", "1.5s"},
      {"cluster.peer_timeout", "5m", "300s"},
      {"cluster.peer_timeout", "2h", "7200s"},
      {"server.block_size", "4096", "4KiB"},
      {"server.block_size", "64KiB", "64KiB"},
      {"server.block_size", "1MiB", "1MiB"},
      {"server.block_size", "12344", "12344"},
      {"server.block_size", "auto", "auto"},
      {"sync.local.alpha", "auto", "auto"},
      {"sync.local.alpha", "0", "0"},
      {"data.path", "/data/a-b_c.d", "/data/a-b_c.d"},
      {"data.path", "a \"b\" \\ # c", "\"a \\\"b\\\" \\\\ # c\""},
      {"data.path", "", "\"\""},
      {"data.path", "---", "\"---\""},
      {"data.path", "null", "\"null\""},
      {"cluster.addresses", "unix:/tmp/a", "[\"unix:/tmp/a\"]"},
      {"optimizer.schedule.milestones", "80ep", "[80ep]"},
      {"model.layers", "3", "[3]"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Parsed(c.option, c.text), ::ssd::testing::IsOkAndHolds(c.printed))
        << c.option << " " << c.text;
  }
}

TEST(ValueTest, ARefusalNamesWhatWasSeenAndWhatIsWanted) {
  const std::string lr = ", want a number above 0 and at most 1000";
  const std::string length = ", want a length of training such as 10ep or 500it, above 0";
  const std::string time = ", want a time such as 30s, 500ms, 5m or 2h, from 1s to 604800s";
  const std::string size =
      ", want a size in bytes such as 65536, 64KiB or 1MiB, from 4KiB to 8MiB, a multiple of 4, or auto";
  const std::string seed = ", want a whole number from 0 to 18446744073709551615";
  const std::string octal = "; a leading 0 means octal to some: write ";
  const struct {
    const char* option;
    const char* text;
    std::string error;
  } cases[] = {
      {"optimizer.lr", "abc", "got \"abc\"" + lr},
      {"optimizer.lr", "0", "got \"0\"" + lr},
      {"optimizer.lr", "-0.1", "got \"-0.1\"" + lr},
      {"optimizer.lr", "+0.1", "got \"+0.1\"" + lr},
      {"optimizer.lr", "0x1p3", "got \"0x1p3\"" + lr},
      {"optimizer.lr", "0,1", "got \"0,1\"" + lr},
      {"optimizer.lr", "1_0", "got \"1_0\"" + lr},
      {"optimizer.lr", "nan", "got \"nan\"" + lr},
      {"optimizer.lr", ".inf", "got \".inf\"" + lr},
      {"optimizer.lr", "inf", "got \"inf\"" + lr},
      {"optimizer.lr", "1e999", "got \"1e999\"" + lr},
      {"optimizer.lr", "1e-999", "got \"1e-999\"" + lr},
      {"optimizer.lr", "00.1", "got \"00.1\"" + lr + octal + "0.1"},
      {"optimizer.lr", "auto", "got \"auto\"" + lr},
      {"optimizer.momentum", "1", "got \"1\", want a number from 0 to 0.9999"},
      {"seed", "-1", "got \"-1\"" + seed},
      {"seed", "1.0", "got \"1.0\"" + seed},
      {"seed", "010", "got \"010\"" + seed + octal + "10"},
      {"seed", "08", "got \"08\"" + seed + octal + "8"},
      {"seed", "0x10", "got \"0x10\"" + seed},
      {"seed", "18446744073709551616", "got \"18446744073709551616\"" + seed},
      {"sync.k", "0", "got \"0\", want a whole number from 1 to 1000"},
      {"sync.k", "4.0", "got \"4.0\", want a whole number from 1 to 1000"},
      {"sync.k", "1e2", "got \"1e2\", want a whole number from 1 to 1000"},
      {"sync.k", "9223372036854775808", "got \"9223372036854775808\", want a whole number from 1 to 1000"},
      {"data.augment", "yes", "got \"yes\", want true or false; write true"},
      {"data.augment", "off", "got \"off\", want true or false; write false"},
      {"data.augment", "True", "got \"True\", want true or false; write true"},
      {"data.augment", "maybe", "got \"maybe\", want true or false"},
      {"sync.policy", "ssd-sgd", "got \"ssd-sgd\", want one of ssgd, ssd_sgd; did you mean \"ssd_sgd\"?"},
      {"sync.policy", "POLICY_UNSPECIFIED", "got \"POLICY_UNSPECIFIED\", want one of ssgd, ssd_sgd"},
      {"sync.policy", "1", "got \"1\", want one of ssgd, ssd_sgd"},
      {"training.duration", "10", "got \"10\"" + length + "; write 10ep for epochs or 10it for steps"},
      {"training.duration", "0ep", "got \"0ep\"" + length},
      {"training.duration", "-1it", "got \"-1it\"" + length},
      {"training.duration", "1.5it", "got \"1.5it\"" + length + "; it counts whole steps"},
      {"training.duration", "10 ep", "got \"10 ep\"" + length + "; the units are ep (epochs) and it (steps)"},
      {"training.duration", "10epochs",
       "got \"10epochs\"" + length + "; the units are ep (epochs) and it (steps)"},
      {"training.duration", "1e7ep", "got \"1e7ep\"" + length + "; at most 1000000ep"},
      {"training.duration", "1000000000001it",
       "got \"1000000000001it\"" + length + "; at most 1000000000000it"},
      {"training.duration", "infep", "got \"infep\"" + length},
      {"training.duration", "010ep", "got \"010ep\"" + length + octal + "10ep"},
      {"cluster.peer_timeout", "30", "got \"30\"" + time + "; write its unit: 30s"},
      {"cluster.peer_timeout", "30sec", "got \"30sec\"" + time + "; the units are ms, s, m and h"},
      {"cluster.peer_timeout", "500ms", "got \"500ms\"" + time},
      {"cluster.peer_timeout", "200h", "got \"200h\"" + time},
      {"server.block_size", "64KB", "got \"64KB\"" + size + "; the units are KiB, MiB and GiB"},
      {"server.block_size", "1GiB", "got \"1GiB\"" + size},
      {"server.block_size", "4098", "got \"4098\"" + size},  // a block holds whole floats
      {"server.block_size", "9223372036854775807GiB", "got \"9223372036854775807GiB\"" + size},
      {"data.path", "a\nb", "got \"a\\nb\", want text; it holds the control character 0x0a"},
      {"data.path", "\xFF", "got \"\\377\", want text; it holds the byte 0xff, which is not UTF-8"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Parsed(c.option, c.text), StatusIs(absl::StatusCode::kInvalidArgument, c.error)) << c.option;
  }
}

TEST(ValueTest, OnlyTextAndNamesMayStandInQuotes) {
  EXPECT_THAT(Parsed("name", "a", /*quoted=*/true), ::ssd::testing::IsOkAndHolds("a"));
  EXPECT_THAT(Parsed("model.name", "resnet8", /*quoted=*/true), ::ssd::testing::IsOkAndHolds("resnet8"));
  EXPECT_THAT(Parsed("sync.k", "4", /*quoted=*/true),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "got \"4\" in quotes, want a whole number from 1 to 1000; remove the quotes"));
  EXPECT_THAT(Parsed("sync.local.alpha", "auto", /*quoted=*/true),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("remove the quotes")));
}

TEST(ValueTest, ALongTextIsShownShortened) {
  EXPECT_THAT(
      Parsed("sync.k", std::string(100'000, 'x')),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "got \"" + std::string(60, 'x') + "...\" (100000 bytes), want a whole number from 1 to 1000"));
}

TEST(ValueTest, ARefusedValueLeavesTheFieldAsItWas) {
  v1::Experiment experiment;
  experiment.mutable_optimizer()->set_lr(0.5);
  const Option& option = *FindOption("optimizer.lr");
  EXPECT_FALSE(ParseValue(option, "-3", /*quoted=*/false, option.MutableParent(&experiment)).ok());
  EXPECT_EQ(experiment.optimizer().lr(), 0.5);
}

TEST(ValueTest, EveryDoubleSurvivesPrintingAndParsing) {
  const Option& option = *FindOption("sync.local.beta");  // any number from 0 to 1000
  for (const double number : {0.1, 1.0 / 3, 1e-300, 5e-324, 999.9999999999999, 0.30000000000000004,
                              std::numeric_limits<double>::min(), 123456789e-8}) {
    v1::Experiment experiment;
    google::protobuf::Message* const parent = option.MutableParent(&experiment);
    ASSERT_OK(ParseValue(option, FormatNumber(number), /*quoted=*/false, parent)) << FormatNumber(number);
    EXPECT_EQ(experiment.sync().local().beta(), number);
  }
}

}  // namespace
}  // namespace ssd
