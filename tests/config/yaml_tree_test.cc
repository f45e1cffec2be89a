#include "common/config/yaml_tree.h"

#include "absl/strings/str_cat.h"
#include "tests/config/loading.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::ssd::testing::LinesOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<std::string> TreeErrors(const std::string& text) {
  ErrorList errors;
  ParseYaml("a.yaml", text, &errors);
  return LinesOf(errors.ToStatus());
}

TEST(YamlTreeTest, ScalarsKeepTheirTextQuotesAndPlace) {
  ErrorList errors;
  const std::optional<YamlNode> root = ParseYaml("a.yaml", "# first\nseed: 010\nname: \"yes\"\n", &errors);
  ASSERT_TRUE(root.has_value());
  ASSERT_THAT(root->entries, SizeIs(2));
  EXPECT_EQ(root->entries[0].value.text, "010");
  EXPECT_FALSE(root->entries[0].value.quoted);
  EXPECT_EQ(PlaceOf("a.yaml", root->entries[0].value), "a.yaml:2:7");
  EXPECT_EQ(root->entries[1].value.text, "yes");
  EXPECT_TRUE(root->entries[1].value.quoted);
}

TEST(YamlTreeTest, DuplicateKeysAreAllThere) {
  ErrorList errors;
  const std::optional<YamlNode> root = ParseYaml("a.yaml", "a: 1\na: 2\n", &errors);
  ASSERT_THAT(root->entries, SizeIs(2));
  EXPECT_EQ(root->entries[0].value.text, "1");
  EXPECT_EQ(root->entries[1].value.text, "2");
}

TEST(YamlTreeTest, NothingIsANull) {
  for (const char* text : {"", "\n", "# a comment", "~", "---\n", "\xEF\xBB\xBF"}) {
    ErrorList errors;
    const std::optional<YamlNode> root = ParseYaml("a.yaml", text, &errors);
    ASSERT_TRUE(root.has_value()) << text;
    EXPECT_EQ(root->kind, YamlNode::Kind::kNull) << text;
    EXPECT_TRUE(errors.empty()) << text;
  }
}

TEST(YamlTreeTest, ByteOrderMarkAndCrlfAreNoPartOfTheText) {
  ErrorList errors;
  const std::optional<YamlNode> root = ParseYaml("a.yaml", "\xEF\xBB\xBFname: a\r\nseed: 2\r\n", &errors);
  ASSERT_THAT(root->entries, SizeIs(2));
  EXPECT_EQ(root->entries[0].key.text, "name");
  EXPECT_EQ(root->entries[0].value.text, "a");
  EXPECT_EQ(PlaceOf("a.yaml", root->entries[1].key), "a.yaml:2:1");
}

TEST(YamlTreeTest, WhatWeDoNotTakeIsNamed) {
  const struct {
    std::string text;
    std::string error;
  } cases[] = {
      {"a: &x 1", "a.yaml:1:4: anchors (&name) are not supported; write the value out where it is needed"},
      {"a: !!str 1", "a.yaml:1:4: the tag \"tag:yaml.org,2002:str\" is not supported; leave it out"},
      {"a: 1\n---\nb: 2\n", "a.yaml:2:1: a second document starts here; an experiment is one document"},
      // On this one yaml-cpp finds empty documents for ever.
      {",a: 1", "a.yaml:1:1: not valid YAML: a comma outside of a list in brackets"},
      {"a: [1]\n]\n", "a.yaml:2:1: not valid YAML: illegal flow end"},
      {"[a]: 1", "a.yaml:1:1: a key must be a plain name"},
      {"a: *x", "a.yaml:1:4: not valid YAML: the referenced anchor is not defined"},
      {"a: [1, 2", "a.yaml:1:1: not valid YAML: end of sequence flow not found"},
      {"a:\n\tb: 1",
       "a.yaml:2:3: not valid YAML: illegal map value; the line is indented with a tab: use spaces"},
      {"a: \"b", "a.yaml:1:6: not valid YAML: illegal EOF in scalar"},
  };
  for (const auto& c : cases) EXPECT_THAT(TreeErrors(c.text), ElementsAre(c.error)) << c.text;
}

TEST(YamlTreeTest, AliasesAreRefusedBesideTheirAnchors) {
  EXPECT_THAT(TreeErrors("a: &x 1\nb: *x\n"),
              ElementsAre(StartsWith("a.yaml:1:4: anchors"),
                          "a.yaml:2:4: aliases (*name) are not supported; write the value out"));
}

TEST(YamlTreeTest, WhatIsNoPlainTextIsRefused) {
  using std::string_literals::operator""s;
  const struct {
    std::string text;
    std::string error;
  } cases[] = {
      // yaml-cpp would take a 0x04 for the end of the file, and drop what follows.
      {"a: 1\nb: 2\x04\nc: 3", "a.yaml:2:5: the file is not plain text: it holds the control character 0x04"},
      {"a: 1\0"s, "a.yaml:1:5: the file is not plain text: it holds the control character 0x00"},
      {"\xFF\xFE"
       "a\0"s,
       "a.yaml:1:1: the file is not plain text: it holds the byte 0xff, which is not UTF-8"},
      {"\x7F"
       "ELF",
       "a.yaml:1:1: the file is not plain text: it holds the control character 0x7f"},
      {"a: 1\rb: 2", "a.yaml:1:5: the file is not plain text: it holds the control character 0x0d"},
      {"a: \xC3", "a.yaml:1:4: the file is not plain text: it holds the byte 0xc3, which is not UTF-8"},
      {"a: \xC0\x80", "a.yaml:1:4: the file is not plain text: it holds the byte 0xc0, which is not UTF-8"},
      {"a: \xED\xA0\x80",
       "a.yaml:1:4: the file is not plain text: it holds the byte 0xed, which is not UTF-8"},
      {"a: \xF4\x90\x80\x80",
       "a.yaml:1:4: the file is not plain text: it holds the byte 0xf4, which is not UTF-8"},
  };
  for (const auto& c : cases) EXPECT_THAT(TreeErrors(c.text), ElementsAre(c.error));
  EXPECT_THAT(TreeErrors("# \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x99\x82\na: 1"), IsEmpty());
}

TEST(YamlTreeTest, DeepNestingIsRefusedInEveryStyle) {
  std::string indented;
  for (int depth = 0; depth < 900; ++depth) absl::StrAppend(&indented, std::string(depth, ' '), "a:\n");
  std::string brackets(400'000, '['), dashes, questions, maps;
  for (int i = 0; i < 100'000; ++i) {
    dashes += "- ";
    questions += "? ";
    maps += "{a: ";
  }
  for (const std::string& text : {indented, brackets, dashes, questions, maps}) {
    const std::vector<std::string> errors = TreeErrors(text);
    ASSERT_THAT(errors, SizeIs(1)) << text.substr(0, 20);
    EXPECT_THAT(errors[0], ::testing::EndsWith("lists and sections are nested too deeply"));
  }
}

TEST(YamlTreeTest, FilesOfMoreThanAMebibyteAreRefused) {
  EXPECT_THAT(TreeErrors(std::string(kMaxYamlBytes, '\n')), IsEmpty());
  EXPECT_THAT(TreeErrors(std::string(kMaxYamlBytes + 1, '\n')),
              ElementsAre("a.yaml: the file has 1048577 bytes; an experiment has at most 1048576"));
}

TEST(YamlTreeTest, AHundredErrorsAreListedAndTheRestIsCounted) {
  std::string text;
  for (int i = 0; i < 150; ++i) absl::StrAppend(&text, "[", i, "]: 1\n");
  const std::vector<std::string> errors = TreeErrors(text);
  ASSERT_THAT(errors, SizeIs(101));
  EXPECT_EQ(errors.back(), "(and 50 more errors)");
}

}  // namespace
}  // namespace ssd
