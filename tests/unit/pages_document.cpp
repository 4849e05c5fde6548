// What pages are made of and what they carry: libhostprobe/report/html/{redaction,embedded_document,page,diff_page}.cpp and
// report/json/json_step_map.cpp
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answer/run.h"
#include "report/html/diff_page.h"
#include "report/html/embedded_document.h"
#include "report/html/page.h"
#include "report/html/redaction.h"
#include "report/json/json_step_map.h"
#include "report/json_text.h"

namespace hostprobe::analysis {
namespace {

using testing::HasSubstr;
using testing::Not;

ProcessAnswer process_with_steps(int rank, const std::vector<double>& lengths_ms) {
  ProcessAnswer process;
  process.rank = rank;
  process.kind = ProcessKind::kRank;
  process.pid = 100u + static_cast<std::uint32_t>(rank);
  process.steps.types = {{.name = "train", .lengths = {.median_ns = 10e6}}};
  double now_ns = 0;
  for (const double ms : lengths_ms) {
    process.steps.steps.push_back(
        {.number = process.steps.steps.size(), .begin_ns = now_ns, .end_ns = now_ns + 1e6 * ms});
    now_ns += 1e6 * ms;
  }
  return process;
}

RunAnswer run_of(const std::vector<ProcessAnswer>& processes) {
  RunAnswer run;
  run.processes = processes;
  run.steps = processes.front().steps;
  return run;
}

TEST(StepMap, HoldsTheExcessOverTheMedianOfTheType) {
  const RunAnswer run = run_of({process_with_steps(0, {10, 10, 10}), process_with_steps(1, {10, 25.5, 9})});
  const JsonValue map = step_map_json(run);
  EXPECT_EQ(json_text(map.at("ranks").at(1).at("excess_ms"), kOneLine), "[0.0,15.5,0.0]");
  EXPECT_EQ(map.at("steps_per_column").count(), 1u);
}

TEST(StepMap, ARankThatMadeFewerStepsHasGapsAndNoZeros) {
  const JsonValue map = step_map_json(run_of({process_with_steps(0, {10, 10, 10}), process_with_steps(1, {10})}));
  EXPECT_EQ(json_text(map.at("ranks").at(1).at("excess_ms"), kOneLine), "[0.0,null,null]");
}

TEST(StepMap, AMillionStepsAreAsManyColumnsAsAScreenHas) {
  std::vector<double> lengths_ms(1'000'000, 10);
  lengths_ms[700'000] = 90;
  const JsonValue map = step_map_json(run_of({process_with_steps(0, lengths_ms)}));
  EXPECT_EQ(map.at("steps").count(), 1'000'000u);
  EXPECT_LE(map.at("first_number").size(), 240u);
  const JsonValue::Array& excess = map.at("ranks").at(0).at("excess_ms").elements();
  EXPECT_EQ(std::count_if(excess.begin(), excess.end(), [](const JsonValue& ms) { return ms.real() == 80; }), 1);
}

TEST(StepMap, NumbersThatBeginAgainAreTakenOnce) {
  ProcessAnswer process = process_with_steps(0, {10, 10, 30, 10});
  process.steps.steps[2].number = 0;
  process.steps.steps[3].number = 1;
  const JsonValue map = step_map_json(run_of({process}));
  EXPECT_EQ(map.at("steps").count(), 2u);
  EXPECT_EQ(json_text(map.at("ranks").at(0).at("excess_ms"), kOneLine), "[20.0,0.0]");
}

TEST(StepMap, WithoutStepsThereIsNone) {
  RunAnswer run;
  EXPECT_TRUE(step_map_json(run).is_null());
  run.processes.emplace_back();
  EXPECT_TRUE(step_map_json(run).is_null());
}

JsonValue named_document() {
  return {
      {"schema", 1},
      {"run", {{"path", "secret/run"}, {"hosts", std::vector<std::string>{"secret-host"}}, {"mode", "trace"}}},
      {"headline", std::vector<std::string>{"Rank 0 loses 9 % in secret_function."}},
      {"findings", std::vector<JsonValue>{{{"cause", "gc_pause"},
                                           {"rank", 0},
                                           {"text", "Rank 0 loses 9 % in secret_function."},
                                           {"share_pct", 9.0},
                                           {"share_of", "steps"},
                                           {"fix", {{"name", "gc"}, {"how", "secret advice"}}},
                                           {"site", {{"function", "secret_function"}, {"role", "main"}}}}}},
      {"processes", std::vector<JsonValue>{
                        {{"rank", 0},
                         {"kind", "rank"},
                         {"host", "secret-host"},
                         {"command", "secret --key=1"},
                         {"a_later_key", "secret of a later version"},
                         {"waits", std::vector<JsonValue>{{{"function", "sem_wait"}, {"library", "libsecret.so"}}}}}}}};
}

TEST(Redaction, NoNameIsLeftWhateverItsKey) {
  EXPECT_THAT(json_text(redacted(named_document()), kOneLine), Not(HasSubstr("secret")));
}

TEST(Redaction, WhatIsTheSameStaysTheSame) {
  const JsonValue document = redacted(named_document());
  EXPECT_EQ(json_text(document.at("run").at("hosts").at(0), kOneLine),
            json_text(document.at("processes").at(0).at("host"), kOneLine));
}

TEST(Redaction, NumbersOwnWordsAndHookedCallsStay) {
  const std::string text = json_text(redacted(named_document()), kOneLine);
  for (const char* kept : {"\"gc_pause\"", "\"trace\"", "\"sem_wait\"", "\"main\"", "9.0", "\"name\":\"gc\""})
    EXPECT_THAT(text, HasSubstr(kept));
}

TEST(Page, IsMadeOfAnyDocument) {
  for (const JsonValue& document :
       {JsonValue(), JsonValue::object(), named_document(), JsonValue({{"findings", 3}, {"processes", "x"}})}) {
    for (const std::string& page : {report_page(document), diff_page(document)}) {
      EXPECT_THAT(page, testing::StartsWith("<!DOCTYPE html>"));
      EXPECT_THAT(page, testing::EndsWith("</html>\n"));
    }
  }
}

TEST(EmbeddedDocument, NoStringOfItEndsTheScript) {
  Markup page;
  add_document({{"name", "</script><!--"}}, page);
  const std::string html = page.take();
  EXPECT_THAT(html, HasSubstr(R"({"name":"\u003c/script>\u003c!--"})"));
}

TEST(EmbeddedDocument, LongOnesArePacked) {
  Markup page;
  add_document({{"name", std::string(1 << 20, 'x')}}, page);
  const std::string html = page.take();
  EXPECT_THAT(html, HasSubstr("application/gzip"));
  EXPECT_LT(html.size(), 10'000u);
}

}  // namespace
}  // namespace hostprobe::analysis
