// Pieces of pages: libhostprobe/report/html/{markup,table,chart,chosen_ranks,shell_word,amount,member}.cpp
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/html/amount.h"
#include "report/html/chart.h"
#include "report/html/chosen_ranks.h"
#include "report/html/member.h"
#include "report/html/table.h"
#include "report/shell_word.h"

namespace hostprobe::analysis {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Markup, NoTextBecomesMarkup) {
  EXPECT_EQ(html_escaped("<b>'\"&"), "&lt;b&gt;&#39;&quot;&amp;");
  Markup page;
  page.open("p", {{"title", "a\"b"}}).text("</p>").close();
  EXPECT_EQ(page.take(), "<p title=\"a&quot;b\">&lt;/p&gt;</p>\n");
}

TEST(Markup, NothingSteersATerminalOrTurnsTheDirection) {
  EXPECT_EQ(html_escaped("a\x1b[31m\xe2\x80\xae\xff"), "a?[31m??");
}

TEST(Markup, LongNamesAreCutAndHaveMoreInTheirTitle) {
  const std::string name(4096, 'n');
  Markup page;
  page.name(name).name("short");
  const std::string html = page.take();
  EXPECT_LT(html.size(), 1000u);
  EXPECT_THAT(html, HasSubstr("<bdi title="));
  EXPECT_THAT(html, HasSubstr("<bdi>short</bdi>"));
}

TEST(Markup, WhatIsOpenIsClosedAtTheEnd) {
  Markup page;
  page.open("div").open("p").text("x");
  EXPECT_EQ(page.take(), "<div><p>x</p>\n</div>\n");
}

TEST(Table, RowsHaveAHeadAnOrderAndTheirRank) {
  Table table("All", {{.title = "On"}, {.title = "ms", .hint = "of a step"}});
  table.row({text_cell("rank 3"), number_cell("1.50 ms", 1.5)}, 3.0);
  Markup page;
  table.write(page, "nothing");
  const std::string html = page.take();
  EXPECT_THAT(
      html, HasSubstr("<tr data-rank=\"3\"><th scope=\"row\">rank 3</th><td class=\"n\" data-v=\"1.5\">1.50 ms</td>"));
  EXPECT_THAT(html, HasSubstr("title=\"of a step\""));
}

TEST(Table, WithoutRowsItSaysWhy) {
  Table table("All", {{.title = "On"}});
  Markup page;
  table.write(page, "nothing was seen");
  EXPECT_EQ(page.take(), "<p class=\"nothing\">nothing was seen</p>\n");
}

TEST(Chart, PartsNeverReachBeyondTheBar) {
  const std::string bar = stacked_bar({{"a", 80, "x"}, {"b", 80, ""}}, 100, "two");
  EXPECT_THAT(bar, HasSubstr("class=\"a\" x=\"0.0\" width=\"160.0\""));
  EXPECT_THAT(bar, HasSubstr("class=\"b\" x=\"160.0\" width=\"40.0\""));
}

TEST(Chart, WhatIsNoNumberIsNotDrawn) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& drawn : {stacked_bar({{"a", none, ""}}, 100, ""), stacked_bar({{"a", 1, ""}}, 0, ""),
                                   range_bar({.value = none, .low = none, .high = 1}, "")})
    EXPECT_THAT(drawn, Not(HasSubstr("nan"))) << drawn;
}

TEST(Chart, CellsOfOneLevelAreOneLine) {
  const std::string map =
      cell_map({.columns = 4, .rows = 1, .level = [](std::size_t column, std::size_t) { return column < 3 ? 2 : -1; }},
               "m", "x");
  EXPECT_THAT(map, HasSubstr("<path class=\"level2\" d=\"M0 0h3\"/>"));
  EXPECT_THAT(map, HasSubstr("<path class=\"unseen\" d=\"M3 0h1\"/>"));
}

TEST(ChosenRanks, OfFewAllAreShownInTheirOrder) {
  const ChosenRanks chosen = choose_ranks({1, 9, 5});
  EXPECT_THAT(chosen.shown, testing::ElementsAre(0, 1, 2));
  EXPECT_TRUE(chosen.all_shown());
}

TEST(ChosenRanks, OfManyTheWorstTheMedianAndTheBest) {
  std::vector<double> badness(1000);
  for (std::size_t i = 0; i < badness.size(); ++i) badness[i] = static_cast<double>(i);
  const ChosenRanks chosen = choose_ranks(badness);
  ASSERT_EQ(chosen.shown.size(), 25u);
  EXPECT_EQ(chosen.shown.front(), 999u);
  EXPECT_EQ(chosen.shown[16], 499u);
  EXPECT_EQ(chosen.shown.back(), 0u);
  EXPECT_EQ(chosen.others.size(), 975u);
}

TEST(ShellWord, PastingRunsNothing) {
  EXPECT_EQ(shell_word("runs/a-1.2"), "runs/a-1.2");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("$(x)'y"), "'$(x)'\\''y'");
  EXPECT_EQ(shell_word("-rf"), "'-rf'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_THAT(shell_word("a\nb"), Not(HasSubstr("\n")));
}

TEST(Amount, WhatWasNotMeasuredIsADashAndNotZero) {
  EXPECT_EQ(ms_amount({}), "–");
  EXPECT_EQ(pct_amount({}), "–");
  EXPECT_EQ(pct_amount(0.0), "0 %");
  EXPECT_EQ(pct_amount(0.004), "< 0.1 %");
  EXPECT_EQ(change_amount(250.0), "× 3.5");
  EXPECT_EQ(count_amount(1e30), "1e+30");
  EXPECT_EQ(bytes_amount(3.0 * 1024 * 1024), "3.0 MiB");
}

TEST(Member, WhatIsNotThereIsNothing) {
  const JsonValue document = {{"a", {{"b", 2}, {"c", "text"}}}};
  EXPECT_EQ(number_in(document, "a.b"), 2);
  EXPECT_EQ(text_in(document, "a.c"), "text");
  EXPECT_FALSE(number_in(document, "a.c"));
  EXPECT_TRUE(member(document, "a.b.c.d").is_null());
  EXPECT_TRUE(list_in(document, "x").empty());
}

}  // namespace
}  // namespace hostprobe::analysis
