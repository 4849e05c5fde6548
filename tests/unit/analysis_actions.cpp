// What hostprobe did: questions/actions.cpp, report/action_sentences.cpp, and both reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/run_answer.h"
#include "report/json/json.h"
#include "report/text/action_sentences.h"
#include "report/text/text.h"
#include "support/counters.h"
#include "trace/trace.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

using nlohmann::json;
using test::TraceFile;

class Events : public testing::Test {
 protected:
  Events() {
    file_.header.pid = 100;
    test::set_text(file_.header.mode, "flight");
    file_.hooks({test::wait_hook("sem_wait")});
  }
  static std::string row(double us, EventKind kind, std::uint32_t reason, std::uint64_t number, std::uint64_t amount,
                         std::string_view text = "") {
    EventRow row{test::at_us(us), kind, reason, number, amount, {}};
    test::set_text(row.text, text);
    return test::bytes_of(row);
  }
  void event(double us, EventKind kind, std::uint32_t reason, std::uint64_t number, std::uint64_t amount,
             std::string_view text = "") {
    file_.block(kBlockEvents, row(us, kind, reason, number, amount, text));
  }
  RunAnswer run() {
    file_.write(folder_.file("h-100-1.hptrace"));
    return analyse_run(folder_.path().string(), {});
  }
  json process() { return json::parse(report_json(run()))["processes"].at(0); }
  std::string text(bool all = false) { return report_text(run(), {.all = all, .tables = {"fixes", "actions"}}); }
  std::size_t sentences(bool all = false) { return action_sentences(run(), all).size(); }
  test::TestFolder folder_;
  TraceFile file_;
};

TEST_F(Events, OfATrialAreARowOfTheirTable) {
  event(250'000, kEventFix, 0, 1, 0, "auto: gc kept: 8+8 windows, 12.3456 -> 11.9001 ms, 3.61 % (2.10 to 4.50)");
  event(350'000, kEventFix, 0, 0, 0, "auto: pin undecided: 3+3 windows, 12 -> 12.5 ms, -4.17 % (-9.00 to 1.00)");
  event(450'000, kEventFix, 0, 0, 0, "auto: spin changes nothing here, or does not come on: it is not tried");
  const json trials = json::parse(report_json(run()))["trials"];
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[0]["fix"], "gc");
  EXPECT_EQ(trials[0]["decision"], "kept");
  EXPECT_EQ(trials[0]["windows_with"], 8);
  EXPECT_EQ(trials[0]["step_without_ms"], 12.3456);
  EXPECT_EQ(trials[0]["gain_low_pct"], 2.1);
  EXPECT_EQ(trials[0]["pid"], 100);
  EXPECT_EQ(trials[1]["decision"], "undecided");
  EXPECT_TRUE(trials[1]["gain_low_pct"].is_null());
  EXPECT_EQ(process()["events"].size(), 3u);
  EXPECT_EQ(sentences(), 1u);  // what is no trial
  EXPECT_NE(text().find("decided by"), std::string::npos);
  EXPECT_NE(text().find("too few windows"), std::string::npos);
}

// A launcher, a rank, and a worker that it forked: each was asked to try fixes.
TEST_F(Events, OfAutoAreSaidOfRanksOnly) {
  file_.header.rank = -1;
  test::set_text(file_.header.command, "python -m torch.distributed.run train.py");
  event(1'000, kEventFix, 0, 0, 0, "auto tried nothing: too few steps");
  file_.write(folder_.file("h-100-1.hptrace"));
  file_.header.pid = 102;
  file_.header.rank = 0;
  file_.header.forked_from = file_.header.parent_pid = 101;
  test::set_text(file_.header.command, "python train.py");
  file_.write(folder_.file("h-102-1.hptrace"));
  const auto sentences_of = [this] { return action_sentences(analyse_run(folder_.path().string(), {}), true).size(); };
  EXPECT_EQ(sentences_of(), 0u);
  file_.header.pid = 101;
  file_.header.forked_from = file_.header.parent_pid = 0;
  file_.write(folder_.file("h-101-1.hptrace"));
  EXPECT_EQ(sentences_of(), 1u) << "of the rank";
}

TEST_F(Events, ThatAreNearlyTrialsAreNone) {
  event(250'000, kEventFix, 0, 1, 0, "auto: gc kept: 8+8 windows, 12.3456 -> ");
  event(250'000, kEventFix, 0, 1, 0, "auto: ");
  event(250'000, kEventFix, 0, 1, 0,
        "auto: a_name_that_is_longer_than_any_fix_has_ever_been kept: 8+8 windows, 1 -> 1 ms, 3 % (2 to 4)");
  EXPECT_TRUE(json::parse(report_json(run()))["trials"].empty());
  EXPECT_EQ(text().find("decided by"), std::string::npos);
}

TEST_F(Events, OfADumpTellReasonTimeAndSize) {
  event(250'000, kEventTrigger, kBySlowStep, 1, 1234, "step 7 took 31 ms");
  const json events = process()["events"];
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["kind"], "trigger");
  EXPECT_EQ(events[0]["reason"], "slow_step");
  EXPECT_DOUBLE_EQ(events[0]["at_s"].get<double>(), 0.25);
  EXPECT_EQ(events[0]["dump"], 1);
  EXPECT_EQ(events[0]["records"], 1234);
  EXPECT_EQ(events[0]["text"], "step 7 took 31 ms");
  EXPECT_EQ(sentences(), 1u);
}

TEST_F(Events, EveryReasonAndKindHasAName) {
  std::string all;
  for (std::uint32_t reason = 1; reason <= 5; ++reason) all += row(reason, kEventTrigger, reason, reason, 0);
  for (const EventKind kind : {kEventDumpGone, kEventStarted, kEventStopped, kEventSetting, kEventDetail})
    all += row(10 + kind, kind, 0, 2, 3);
  file_.block(kBlockEvents, all);
  std::vector<std::string> names;
  const json events = process()["events"];
  for (const json& event : events) names.push_back(event.value("reason", event["kind"].get<std::string>()));
  EXPECT_THAT(names, testing::ElementsAre("slow_step", "signal", "command", "program", "hang", "dump_gone", "started",
                                          "stopped", "setting", "detail"));
}

TEST_F(Events, RefusedTriggersAndRemovedDumpsAreTotals) {
  for (int i = 0; i < 3; ++i) event(1000.0 * i, kEventTrigger, kBySignal, 0, 0);
  event(5000, kEventDumpGone, 0, 1, 3 << 20);
  event(6000, kEventDumpGone, 0, 2, 1 << 20);
  EXPECT_EQ(sentences(), 2u);
  EXPECT_TRUE(process()["events"].at(0)["dump"].is_null());
  EXPECT_EQ(process()["events"].at(3)["bytes"], 3 << 20);
}

TEST_F(Events, PausesSettingsAndShedDetailAreTold) {
  event(1000, kEventStopped, 0, 0, 0);
  event(2000, kEventStarted, 0, 0, 0);
  event(3000, kEventSetting, 0, 0, 0, "WAIT_US=50");
  event(4000, kEventDetail, 0, 1, 730);
  ThreadEntry entry = test::thread_entry(100, "main");
  entry.skipped = 5000;
  file_.thread(entry);
  EXPECT_EQ(sentences(), 5u);
  EXPECT_EQ(process()["skipped"], 5000);
  EXPECT_DOUBLE_EQ(process()["events"].at(3)["cost_pct"].get<double>(), 0.73);
}

TEST_F(Events, WindowsOfPyTorchsProfilerAreToldWithTheirCost) {
  event(1000, kEventProfile, 0, 1, 3 << 20, "3 steps at 15.2 ms");
  event(2000, kEventProfile, 1, 2, 0, "a window is open");
  EXPECT_EQ(sentences(), 2u);
  EXPECT_NE(text().find("profile window 1, 3.0 MiB: 3 steps at 15.2 ms"), std::string::npos);
  EXPECT_NE(text().find("no profile window: a window is open"), std::string::npos);
  EXPECT_EQ(process()["events"].at(0)["window"], 1);
  EXPECT_EQ(process()["events"].at(0)["bytes"], 3 << 20);
  EXPECT_TRUE(process()["events"].at(1)["window"].is_null());
}

TEST_F(Events, AreSortedByTimeAndManyOfThemAreCounted) {
  for (int i = 20; i > 0; --i) event(100'000.0 * i, kEventSetting, 0, 0, 0, "A=" + std::to_string(i));
  EXPECT_EQ(process()["events"].at(0)["text"], "A=1");
  EXPECT_EQ(sentences(), 6u + 1u) << "the last one counts the others";
  EXPECT_EQ(sentences(true), 20u);
}

TEST_F(Events, DumpsThatAPersonAskedForAreNeverLeftOut) {
  for (unsigned i = 0; i < 20; ++i) event(1000 * i, kEventSetting, 0, 0, 0, "budget=1");
  event(50'000, kEventTrigger, kByCommand, 1, 7, "loss is NaN");
  event(60'000, kEventTrigger, kBySlowStep, 2, 7, "step 12");
  EXPECT_NE(text().find("loss is NaN"), std::string::npos);
  EXPECT_EQ(text().find("step 12"), std::string::npos);
}

TEST_F(Events, WithoutAnyThereIsNoSection) {
  EXPECT_EQ(sentences(), 0u);
  EXPECT_EQ(process()["events"], json::array());
  EXPECT_EQ(process()["skipped"], 0);
}

TEST_F(Events, OfBadLengthAreDamageAndTextsNeedNoEnd) {
  file_.block(kBlockEvents, row(0, kEventSetting, 0, 0, 0).substr(0, 120));
  EventRow endless{test::at_us(0), 99, 0, 0, 0, {}};
  std::memset(endless.text, '\x1b', sizeof(endless.text));
  file_.block(kBlockEvents, test::bytes_of(endless));
  const RunAnswer answer = run();
  EXPECT_EQ(answer.processes.at(0).damages.size(), 1u);
  ASSERT_EQ(answer.processes.at(0).actions.size(), 1u);
  EXPECT_EQ(answer.processes.at(0).actions[0].text.size(), sizeof(endless.text));
  EXPECT_EQ(text().find('\x1b'), std::string::npos);
  EXPECT_EQ(process()["events"].at(0)["kind"], "unknown_99");
}

TEST_F(Events, ReaderIsToldWhatCanBeSeenCallByCall) {
  file_.block(kBlockCounters, test::sums_row({.tid = 100, .counters = {std::vector<std::uint64_t>(2000, 4000)}}));
  EXPECT_EQ(visible_part(run().processes.at(0)).empty(), false);
  EXPECT_EQ(process()["summed_only"], 2000);
  EXPECT_TRUE(process()["whole_since_s"].is_null());
  file_.calls(100, 2000, {{.begin_us = 750'000, .end_us = 760'000}});
  EXPECT_DOUBLE_EQ(process()["whole_since_s"].get<double>(), 0.76);
  const std::string without_dump = visible_part(run().processes.at(0));
  event(1000, kEventTrigger, kByCommand, 1, 5);
  EXPECT_NE(visible_part(run().processes.at(0)), without_dump);
}

TEST_F(Events, NoLineIsWiderThanAHundredColumns) {
  file_.block(kBlockCounters, test::sums_row({.tid = 100, .counters = {{4000}}}));
  std::string words;
  for (int i = 0; i < 18; ++i) words += "step ";
  event(1000, kEventTrigger, kByProgram, 123456, 123456789, words);
  event(2000, kEventDetail, 0, 3, 99999, words);
  std::istringstream lines(text());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 100u) << line;
}

}  // namespace
}  // namespace hostprobe::analysis
