#include "deploy/run/page/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "deploy/run/page/figure_text.h"
#include "deploy/run/page/time_bars.h"

namespace ssd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

RunRecord TrainedRun(const std::string& label) {
  RunRecord run{.folder = "runs/" + label, .label = label, .start = StartRecord{.steps = 40}};
  run.train = {{.elapsed = 60,
                .step = 10,
                .epoch = 1,
                .loss = 4,
                .samples = 40,
                .samples_per_second = 10,
                .wait_fraction = 0.25,
                .bytes_pushed = 1e6,
                .bytes_pulled = 1e6,
                .step_times = {0.001, 0.002, 0.003, 0.004, 0}},
               {.elapsed = 240,
                .step = 40,
                .epoch = 4,
                .loss = 1,
                .samples = 160,
                .samples_per_second = 10,
                .wait_fraction = 0.25,
                .bytes_pushed = 4e6,
                .bytes_pulled = 4e6,
                .step_times = {0.001, 0.002, 0.003, 0.004, 0}}};
  run.test = {{.elapsed = 240,
               .step = 40,
               .epoch = 4,
               .loss = 0.5,
               .accuracy = 0.8052,
               .correct = 8052,
               .total = 10000,
               .bytes_pushed = 4e6,
               .bytes_pulled = 4e6}};
  run.options = {{"sync.k", "4"}};
  run.exit_code = 0;
  return run;
}

TEST(ReportPageTest, TheFiguresAreThoseOfTheRecords) {
  const std::string page = RenderReportPage(std::vector<RunRecord>{TrainedRun("a/001")});
  EXPECT_THAT(page,
              AllOf(HasSubstr("80.52 %"), HasSubstr("8052 of 10000"), HasSubstr("0.5000"), HasSubstr("04:00"),
                    HasSubstr("8.00 MB"), HasSubstr("25.00 %"), HasSubstr(">10.0<")));
  // Loss 4 at epoch 1 of 4, 1 at 4, over axes from 0; the same after 1 of 4 minutes, and 2 of 8 MB.
  EXPECT_THAT(page, HasSubstr("d=\"M118.00 14.00L346.00 152.00\""));
  EXPECT_THAT(
      page, AllOf(HasSubstr(">wall time, minutes<"), HasSubstr(">bytes moved, MB<"), HasSubstr(">epochs<")));
  EXPECT_THAT(
      page, AllOf(HasSubstr("1.00 <small>10.00 %"), HasSubstr("4.00 <small>40.00 %"), HasSubstr(">10.00<")));
  EXPECT_THAT(page, Not(HasSubstr("Options that differ"))) << "of one run";
}

TEST(ReportPageTest, ThePageNeedsNoOtherFileAndNoScript) {
  const std::string page = RenderReportPage(std::vector<RunRecord>{TrainedRun("a/001"), TrainedRun("b/001")});
  for (const char* reference : {"http:", "https:", "src=", "<script", "@import", "<link"})
    EXPECT_THAT(page, Not(HasSubstr(reference)));
  EXPECT_THAT(page, HasSubstr("The runs have the same options."));
}

TEST(ReportPageTest, DifferingOptionsAreShownWithTheirValues) {
  std::vector<RunRecord> runs = {TrainedRun("a/001"), TrainedRun("b/001"), TrainedRun("c/001")};
  runs[1].options = {{"sync.k", "<8>"}};
  runs[2].options.clear();
  EXPECT_THAT(
      RenderReportPage(runs),
      HasSubstr("<tr><th scope=\"row\">sync.k</th><td data-label=\"a/001\"><code>4</code></td>"
                "<td data-label=\"b/001\"><code>&lt;8&gt;</code></td><td data-label=\"c/001\">?</td></tr>"));
  for (const char* label : {"d", "e"}) runs.push_back(TrainedRun(label));
  EXPECT_THAT(RenderReportPage(runs),
              AllOf(HasSubstr("<td data-label=\"sync.k\"><code>&lt;8&gt;</code></td></tr>"),
                    HasSubstr("<td data-label=\"sync.k\">?</td></tr>")));
}

TEST(ReportPageTest, WhateverIsMissingIsSaid) {
  RunRecord empty{.folder = "e", .label = "e"};
  EXPECT_THAT(
      RenderReportPage(std::vector<RunRecord>{empty}),
      AllOf(HasSubstr("going on, or killed"), HasSubstr("No evaluation yet."), HasSubstr("No report yet.")));
  RunRecord old = TrainedRun("old");
  for (TrainRecord& record : old.train) record.bytes_pushed = NAN;
  for (TestRecord& record : old.test) record.bytes_pushed = NAN;
  old.exit_code = 4;
  const std::string page = RenderReportPage(std::vector<RunRecord>{old, TrainedRun("new")});
  EXPECT_THAT(page,
              AllOf(HasSubstr("Without a count of bytes: old."), HasSubstr("exit code 4, training diverged"),
                    Not(HasSubstr("nan")), Not(HasSubstr("inf "))));
}

TEST(ReportPageTest, NamesCannotBreakThePage) {
  const std::string page = RenderReportPage(std::vector<RunRecord>{TrainedRun("<b>&\"'\xff\x01/001")});
  EXPECT_THAT(page, AllOf(HasSubstr("&lt;b&gt;&amp;&quot;&#39;\uFFFD\uFFFD/001"), Not(HasSubstr("<b>"))));
}

TEST(TimeBarsTest, BarsAreStackedInOneScale) {
  const std::string svg = RenderTimeBars({{"a", {.data = 0.1, .compute = 0.3}}, {"b", {.compute = 0.2}}});
  // 342 pixels are 400 ms.
  EXPECT_THAT(svg, AllOf(HasSubstr("x=\"4.00\" y=\"16.0\" width=\"85.50\""),
                         HasSubstr("x=\"89.50\" y=\"16.0\" width=\"256.50\""),
                         HasSubstr("x=\"4.00\" y=\"54.0\" width=\"171.00\"")));
  EXPECT_EQ(RenderTimeBars({{"a", {.data = NAN}}}), "");
}

TEST(FigureTextTest, NumbersAreShort) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(999.4), "999 B");
  EXPECT_EQ(BytesText(999.6), "1.00 kB");
  EXPECT_EQ(BytesText(1234567), "1.23 MB");
  EXPECT_EQ(BytesText(9.999e9), "10.0 GB");
  EXPECT_EQ(BytesText(99.99e12), "100 TB");
  EXPECT_EQ(BytesText(NAN), "\u2013");
  EXPECT_EQ(PercentText(0.8052), "80.52 %");
  EXPECT_EQ(WallTimeText(3671), "1:01:11");
  EXPECT_EQ(WallTimeText(NAN), "\u2013");
  EXPECT_EQ(NumberText(INFINITY, 2), "\u2013");
}

}  // namespace
}  // namespace ssd
