// What pages are made of and what they carry: libhostprobe/report/html/{redaction,embedded_document,page,diff_page}.cpp and
// report/json/json_step_map.cpp
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "answer/run.h"
#include "report/html/assets.h"
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

TEST(CausesByStep, AreAddedOverRanksAndMeansOfColumns) {
  StepTime time;
  time.lost.resize(2);
  time.lost[0].cause = time.lost[1].cause = Cause::kGcPause;
  time.lost[0].step_ns = std::vector<double>(480, 1e6);
  time.lost[1].step_ns = std::vector<double>(480, 2e6);
  time.lost[0].step_ns[1] = 3e6;
  const JsonValue by_step = causes_by_step_json(time);
  EXPECT_EQ(by_step.at("steps_per_column").count(), 2u);
  EXPECT_EQ(by_step.at("ms").at("gc_pause").size(), 240u);
  EXPECT_EQ(by_step.at("ms").at("gc_pause").at(0).real(), 4);
  EXPECT_EQ(by_step.at("ms").at("gc_pause").at(1).real(), 3);
}

TEST(CausesByStep, OfAllStepsTogetherThereAreNone) {
  StepTime time;
  time.lost.resize(1);
  EXPECT_TRUE(causes_by_step_json(time).is_null());
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

const JsonValue kBad = "</script><!--<img src=x onerror=alert(1)>\"'\xff\xe2\x80\xae";

JsonValue list_of(JsonValue one) {
  JsonValue list = JsonValue::array();
  list.push_back(std::move(one));
  return list;
}

JsonValue node(double parent, double frame, double ms) {
  JsonValue one = JsonValue::array();
  for (const double number : {parent, frame, ms}) one.push_back(number);
  return one;
}

// A frame that stands on none, and one that has no name, too.
JsonValue hostile_stacks() {
  JsonValue nodes = list_of(node(0, 0, 10));
  nodes.push_back(node(0, 0, 6));
  nodes.push_back(node(1, 9, 3));
  nodes.push_back(node(77, 0, 3));
  return {{"tid", 7}, {"thread", kBad}, {"state", kBad}, {"frames", list_of(kBad)}, {"nodes", nodes}};
}

JsonValue hostile_lanes() {
  const JsonValue span = {{"at_ms", 0.5}, {"ms", 0.2}, {"function", kBad}, {"cause", kBad}, {"kind", kBad}};
  const JsonValue lane = {{"kind", "thread"}, {"rank", 0}, {"pid", 7}, {"thread", kBad}, {"spans", list_of(span)}};
  const JsonValue wake = {{"at_ms", 9.0}, {"from", -3}, {"to", 44}};
  return {{"number", 3},     {"type", kBad},           {"ms", 1.0},
          {"least_ms", 0.1}, {"lanes", list_of(lane)}, {"wakes", list_of(wake)}};
}

JsonValue hostile_process() {
  const JsonValue running = {{"function", kBad}, {"file", kBad}, {"line", 3}};
  const JsonValue thread = {{"tid", 7},
                            {"name", kBad},
                            {"role", kBad},
                            {"runs", kBad},
                            {"wall_ms", 2.0},
                            {"cpu_ms", 1.0},
                            {"running", list_of(running)}};
  const JsonValue wait = {{"function", kBad}, {"library", kBad}, {"role", kBad}, {"python", list_of({{"text", kBad}})}};
  return {{"rank", 0},
          {"pid", 7},
          {"kind", "rank"},
          {"host", kBad},
          {"command", kBad},
          {"lost", 3},
          {"end", {{"how", kBad}, {"signal", kBad}}},
          {"threads", list_of(thread)},
          {"waits", list_of(wait)},
          {"stacks", list_of(hostile_stacks())},
          {"events", list_of({{"kind", kBad}, {"text", kBad}, {"at_s", 0.5}})},
          {"machine", {{"steal_ms", 1.0}}},
          {"neighbours", list_of({{"comm", kBad}, {"took_ms", 1.0}})},
          {"gpu", {{"source", kBad}}}};
}

JsonValue hostile_steps() {
  const JsonValue longest = {{"rank", 0},
                             {"pid", 7},
                             {"number", list_of(0)},
                             {"at_s", list_of(0.0)},
                             {"ms", list_of(1.0)},
                             {"type", list_of(kBad)}};
  return {{"count", 1},
          {"slowest", list_of({{"number", 0}, {"type", kBad}})},
          {"map",
           {{"steps", 1},
            {"steps_per_column", 1},
            {"median_ms", 1.0},
            {"first_number", list_of(0)},
            {"longest", longest},
            {"ranks", list_of({{"rank", 0}, {"excess_ms", list_of(1.0)}})}}}};
}

JsonValue hostile_finding() {
  return {{"cause", kBad},
          {"rank", 0},
          {"text", kBad},
          {"share_of", kBad},
          {"share_pct", 9.0},
          {"change", kBad},
          {"fix", {{"name", kBad}, {"how", kBad}}},
          {"site", {{"function", kBad}, {"library", kBad}, {"role", kBad}, {"stack", list_of(kBad)}}},
          {"evidence", {{"code", kBad}, {"</b><img>", kBad}}}};
}

// Every text of it would be markup: of a report and of a comparison at once.
JsonValue hostile_document() {
  const JsonValue side = {{"path", kBad}, {"mode", kBad}, {"steps", hostile_steps()}};
  const JsonValue lost = {{"cause", kBad}, {"rank", 0}, {"ms_per_step", 1.0}, {"share_pct", 50.0}};
  const JsonValue trial = {{"fix", kBad}, {"decision", kBad}, {"gain_pct", 1.0}, {"pid", 7}, {"at_s", 0.1}};
  return {{"hostprobe", {{"version", kBad}, {"commit", kBad}}},
          {"run", {{"path", kBad}, {"hosts", list_of(kBad)}, {"mode", kBad}, {"started", kBad}}},
          {"verdict", {{"word", kBad}, {"severity", kBad}, {"why", kBad}}},
          {"headline", list_of(kBad)},
          {"findings", list_of(hostile_finding())},
          {"step_share_pct", {{"gc_pause", 1.0}}},
          {"step_time",
           {{"steps", 1},
            {"lost", list_of(lost)},
            {"worst_step", hostile_lanes()},
            {"by_step", {{"steps", 1}, {"ms", {{"gc_pause", list_of(1.0)}}}}}}},
          {"steps", hostile_steps()},
          {"processes", list_of(hostile_process())},
          {"collectives", list_of({{"op", kBad}, {"comm", kBad}})},
          {"delay_chain", list_of({{"link", kBad}, {"name", kBad}})},
          {"trials", list_of(trial)},
          {"stuck", list_of({{"text", kBad}})},
          {"unreadable", list_of({{"path", kBad}, {"what", kBad}})},
          {"kernels", list_of({{"name", kBad}, {"a_count", 1}, {"b_count", 2}})},
          {"critical_path_pct", {{"</b><img>", {{"a_pct", 1.0}}}}},
          {"a", side},
          {"b", side}};
}

TEST(Page, NoNameBecomesMarkupWhereverItStands) {
  const JsonValue document = hostile_document();
  for (const std::string& page : {report_page(document), diff_page(document), report_page(redacted(document))}) {
    EXPECT_EQ(page.find("<img"), std::string::npos);  // and not by HasSubstr, which would print all of it
    EXPECT_EQ(page.substr(0, page.find("<script")).find("\xe2\x80\xae"),
              std::string::npos);  // turns what stands behind it
    // Those of the document and of the script.
    std::size_t ends = 0;
    for (std::size_t at = page.find("</script"); at != std::string::npos; at = page.find("</script", at + 1)) ++ends;
    EXPECT_EQ(ends, 2u);
  }
}

JsonValue seen_process(int pid, bool is_profile) {
  JsonValue process = {{"pid", pid}, {"host", "a"}, {"kind", "process"}};
  if (is_profile) process["imported"] = JsonValue({{"in_part", false}});
  return process;
}

TEST(Page, AProfileOfAProcessThatWasTracedIsNoFurtherOne) {
  JsonValue processes = list_of(seen_process(7, false));
  processes.push_back(seen_process(7, true));
  EXPECT_THAT(report_page({{"processes", processes}}), HasSubstr("<dd>1 process</dd>"));
  processes.push_back(seen_process(8, true));
  EXPECT_THAT(report_page({{"processes", processes}}), HasSubstr("<dd>2 processes</dd>"));
}

TEST(Page, NoStepIsShorterByMoreThanAllOfIt) {
  const JsonValue steps = {{"change_pct", 1045.0}, {"change_low_pct", 850.0}, {"change_high_pct", 1309.0}};
  EXPECT_THAT(diff_page({{"steps", steps}}), HasSubstr("from -100 % to"));
}

TEST(Page, FramesOfAFlameGraphStandBelowTheirCallersAndAddUp) {
  JsonValue nodes = list_of(node(0, 0, 10));
  for (const JsonValue& one : {node(0, 0, 6), node(0, 1, 4), node(2, 0, 1)}) nodes.push_back(one);
  JsonValue frames = list_of("train (a.py:1)");
  frames.push_back("load (a.py:2)");
  const JsonValue stacks = {{"thread", "main"}, {"state", "running"}, {"frames", frames}, {"nodes", nodes}};
  const std::string page = report_page({{"processes", list_of({{"pid", 7}, {"stacks", list_of(stacks)}})}});
  EXPECT_THAT(page, HasSubstr(R"(<svg x="0.00%" y="0" width="60.00%")"));
  EXPECT_THAT(page, HasSubstr(R"(<svg x="60.00%" y="0" width="40.00%")"));
  EXPECT_THAT(page, HasSubstr(R"(<svg x="60.00%" y="17" width="10.00%")")) << "in the function that called it";
  EXPECT_THAT(page, HasSubstr("load (a.py:2): 4.00 ms, 40 %"));
}

TEST(Page, EachCauseHasAColour) {
  const std::string style = kPageStyle;
#define HP_CAUSE(Name, id, ...) EXPECT_THAT(style, HasSubstr(".cause-" #id " {"));
#include "hostprobe/causes.def"
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
