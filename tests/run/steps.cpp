// steps: those that a report finds where the calls of a program repeat, held against those that the program marked.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

using nlohmann::json;

json report_with(const std::filesystem::path& run, std::vector<std::string> words) {
  Launch launch;
  launch.command = {probe_command().string(), "report", run.string(), "--json"};
  launch.command.insert(launch.command.end(), words.begin(), words.end());
  const Outcome outcome = hostprobe::test::run(launch);
  EXPECT_TRUE(outcome.exited_with(0)) << outcome.describe();
  return json::parse(outcome.out, nullptr, false);
}

class MarkedProgram : public testing::TestWithParam<const char*> {
 protected:
  OneRun record(const std::string& steps, const Environment& probe = {}) {
    Environment environment = {{"HOSTPROBE_MODE", "trace"}, {"HOSTPROBE_TARGET", "all"}};
    environment.insert(probe.begin(), probe.end());
    return run_probed({.program = "makes_steps",
                       .args = {GetParam(), steps},
                       .environment = {{"LD_LIBRARY_PATH", simnode_folder().string()}, {"SIMNODE_GPUS", "2"}},
                       .probe = environment},
                      scratch_);
  }
  ScratchFolder scratch_;
};

// Tokens of a decode loop are not told yet where the machine is busy: what it waits for comes and goes.
TEST_P(MarkedProgram, HasTheSameStepsWithoutItsMarks) {
  if (GetParam() == std::string("decode")) GTEST_SKIP() << "not reliable yet, see docs/reference/steps.md";
  const OneRun run = record("80");
  ASSERT_TRUE(run.outcome.exited_with(0)) << run.outcome.describe();
  const json marked = report_with(scratch_.run(), {})["steps"];
  const json detected = report_with(scratch_.run(), {"--steps", "detected"})["steps"];
  ASSERT_EQ(marked["source"], "marks");
  EXPECT_EQ(marked["count"], 79);
  ASSERT_EQ(detected["source"], "detected");
  const double truth = marked["median_ms"];
  EXPECT_NEAR(detected["median_ms"].get<double>(), truth, 0.01 * truth);
  EXPECT_GE(detected["count"], 75);
  EXPECT_LE(detected["count"], 79);
}

TEST_P(MarkedProgram, TellsOneStepAsTheWholeIsTold) {
  const OneRun run = record("20");
  ASSERT_TRUE(run.outcome.exited_with(0)) << run.outcome.describe();
  const json whole = report_with(scratch_.run(), {});
  const json slowest = report_with(scratch_.run(), {"--step", "slowest"});
  ASSERT_EQ(slowest["steps"]["count"], 1);
  const auto number = slowest["steps"]["slowest"][0]["number"];
  const json named = report_with(scratch_.run(), {"--step", number.dump()});
  EXPECT_EQ(named["steps"], slowest["steps"]);
  std::uint64_t launches = 0;
  for (const json& process : slowest["processes"]) {
    if (process["rank"].is_null() || process["kind"] != "rank") continue;
    EXPECT_GT(process["wall_ms"], 0);
    EXPECT_LT(process["wall_ms"].get<double>(), 1e3 * whole["run"]["wall_s"].get<double>());
    launches += process["launches"]["count"].get<std::uint64_t>();
    for (const json& thread : process["threads"])
      EXPECT_LE(thread["wait_ms"].get<double>(), process["wall_ms"].get<double>() * 1.001);
  }
  EXPECT_GT(launches, 0u);
  std::uint64_t all = 0;
  for (const auto& [function, count] : launches_by_function(whole)) all += count;
  EXPECT_LT(launches, all / 5);
}

TEST_P(MarkedProgram, HasNoStepsWhereTheyAreOff) {
  ASSERT_TRUE(record("10", {{"HOSTPROBE_STEPS", "off"}}).outcome.exited_with(0));
  EXPECT_EQ(report_with(scratch_.run(), {})["steps"]["source"], "none");
}

INSTANTIATE_TEST_SUITE_P(Of, MarkedProgram, testing::Values("sharded", "pipelined", "decode"),
                         [](const auto& shape) { return std::string(shape.param); });

// Nothing of what a monitored job keeps has a place in time, but what the counters held at the first step.
TEST(FedProgram, IsToldWhichProcessItWaitsForAndWhereThatIs) {
  ScratchFolder scratch;
  const OneRun run = run_probed(
      {.program = "feeds_by_pipe", .probe = {{"HOSTPROBE_MODE", "trace"}, {"HOSTPROBE_TARGET", "all"}}}, scratch);
  ASSERT_TRUE(run.outcome.exited_with(0)) << run.outcome.describe();
  const json answers = report(scratch.run());
  ASSERT_FALSE(answers.at("findings").empty()) << answers.at("step_share_pct").dump();
  const json& evidence = answers.at("findings").at(0).at("evidence");
  EXPECT_GE(answers.at("findings").at(0).at("share_pct").get<double>(), 60);
  EXPECT_EQ(evidence.value("held_by_name", ""), "kitchen") << answers.at("findings").at(0).dump();
  EXPECT_EQ(evidence.value("held_in", "").substr(0, 8), "make_one");
}

TEST(MonitoredProgram, KnowsItsStepsAndLeavesItsStartUpOutOfThem) {
  ScratchFolder scratch;
  const OneRun run = run_probed({.program = "makes_steps",
                                 .args = {"sharded", "700", "2000"},
                                 .environment = {{"LD_LIBRARY_PATH", simnode_folder().string()}, {"SIMNODE_GPUS", "2"}},
                                 .probe = {{"HOSTPROBE_MODE", "monitor"}, {"HOSTPROBE_TARGET", "all"}}},
                                scratch);
  ASSERT_TRUE(run.outcome.exited_with(0)) << run.outcome.describe();
  const json answers = report_with(scratch.run(), {});
  EXPECT_EQ(answers["steps"]["source"], "detected");
  EXPECT_EQ(answers["steps"]["detected_by"], "calls");
  EXPECT_GT(answers["steps"]["count"], 100);
  EXPECT_LE(answers["steps"]["count"], 700);
  for (const json& finding : answers["findings"]) {
    EXPECT_NE(finding["evidence"].value("function", ""), "sem_timedwait") << finding;
    EXPECT_FALSE(finding.value("with_start_up", false)) << finding;
  }
}

}  // namespace
}  // namespace hostprobe::test
