// What changed between two runs, and what did not: analysis/findings/step_change.cpp, run_diff.cpp, analysis/report/diff_*.cpp
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "analysis/findings/run_diff.h"
#include "analysis/findings/step_change.h"
#include "analysis/measures/steps.h"
#include "analysis/ranks/delay_chain.h"
#include "analysis/run_answer.h"
#include "report/diff/diff_json.h"
#include "report/diff/diff_text.h"
#include "report/json/json.h"

namespace hostprobe::analysis {
namespace {

// Steps as a job has them: skewed, the neighbours alike.
std::vector<double> steps_of(std::uint64_t seed, std::size_t count = 200, double median_ms = 10) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> more(1);
  std::normal_distribution<double> slow(0, 0.05);
  std::vector<double> steps;
  double level = 0;
  for (std::size_t i = 0; i < count; ++i) {
    level = 0.8 * level + slow(random);
    steps.push_back(median_ms * (1 + 0.03 * more(random) + 0.2 * level));
  }
  return steps;
}

TEST(StepChange, TwoRunsOfTheSameProgramDoNotDiffer) {
  int told = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    told += compare_steps(steps_of(seed), steps_of(1000 + seed)).significant;
  EXPECT_LE(told, 1);
}

TEST(StepChange, ATenthIsSeenAndItsIntervalHoldsIt) {
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const StepChange change = compare_steps(steps_of(seed), steps_of(1000 + seed, 200, 11));
    EXPECT_TRUE(change.significant);
    held += *change.low_pct <= 10 && *change.high_pct >= 10;
    EXPECT_GE(*change.change_pct, *change.low_pct);
    EXPECT_LE(*change.change_pct, *change.high_pct);
  }
  EXPECT_GE(held, 18) << "few blocks hold a little less than they promise";
}

TEST(StepChange, ARunAgainstItselfIsTheSame) {
  const auto steps = steps_of(3);
  const StepChange change = compare_steps(steps, steps);
  EXPECT_FALSE(change.significant);
  EXPECT_DOUBLE_EQ(*change.change_pct, 0);
}

TEST(StepChange, FewStepsAreAChangeOnlyWhereTheyLieApart) {
  EXPECT_FALSE(compare_steps({10}, {20}).significant) << "one step each says nothing";
  EXPECT_FALSE(compare_steps({10, 11, 12, 10, 11, 13}, {12, 14, 15, 16, 15, 14}).significant);
  const StepChange apart = compare_steps({10, 11, 12, 10, 11, 13}, {14, 14, 15, 16, 15, 14});
  EXPECT_TRUE(apart.significant);
  EXPECT_FALSE(apart.low_pct);
  EXPECT_EQ(*apart.b_min_ms, 14);
}

TEST(StepChange, WithoutStepsNothingIsSaid) {
  EXPECT_FALSE(compare_steps({}, {}).change_pct);
  EXPECT_FALSE(compare_steps({}, {1, 2}).change_pct);
  EXPECT_FALSE(compare_steps({0, 0}, {1, 2}).change_pct);
  EXPECT_FALSE(compare_steps({1, 1, 1}, {1, 1, 1}).significant);
}

// ---- whole runs ----

WaitSite site(const std::string& function, double ms, std::uint64_t count) {
  WaitSite wait;
  wait.function = function;
  wait.library = "libx.so";
  wait.role = Role::kMain;
  wait.time.add(1e6 * ms / static_cast<double>(count), count);
  return wait;
}

RunAnswer run_of(std::uint64_t seed, double wait_ms = 400, double kernel_us = 20, double step_ms = 10) {
  RunAnswer run;
  run.path = "run";
  run.ranks = 1;
  ProcessAnswer process;
  process.rank = 0;
  process.kind = ProcessKind::kRank;
  process.pid = 7;
  process.wall_ms = 2000;
  process.waits.push_back(site("sem_wait", wait_ms, 200));
  process.waits.back().share_pct = process.wall_share(wait_ms);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> even(0.95, 1.05);
  for (int i = 0; i < 400; ++i) process.kernels["gemm"].add(1e3 * kernel_us * even(random));
  run.processes.push_back(std::move(process));
  std::vector<double> lengths_ns;
  for (const double ms : steps_of(seed, 200, step_ms)) {
    const double begin_ns = run.steps.end_ns;
    run.steps.end_ns = begin_ns + 1e6 * ms;
    run.steps.steps.push_back({run.steps.steps.size(), begin_ns, run.steps.end_ns, 0});
    lengths_ns.push_back(1e6 * ms);
  }
  run.steps.source = StepSource::kMarks;
  run.steps.lengths = lengths_of(lengths_ns);
  run.steps.types = {{"train", run.steps.lengths}};
  return run;
}

nlohmann::json json_of(RunAnswer a, RunAnswer b) {
  for (RunAnswer* run : {&a, &b}) tell_of_the_whole(*run);
  return nlohmann::json::parse(diff_json(compare_runs(a, b), a, b));
}

TEST(RunDiff, ARunAgainstItselfIsAllTheSame) {
  const RunAnswer run = run_of(1);
  const auto json = json_of(run, run);
  EXPECT_FALSE(json["steps"]["significant"]);
  EXPECT_FALSE(json["findings"].empty());
  for (const auto& finding : json["findings"]) EXPECT_EQ(finding["change"], "same");
  for (const char* table : {"kernels", "collectives", "waits", "wakes"})
    for (const auto& row : json[table]) {
      EXPECT_FALSE(row["significant"]) << row;
      EXPECT_EQ(row["a_count"], row["b_count"]);
    }
}

TEST(RunDiff, TheMedianOfARunIsOneNumberInAllReports) {
  RunAnswer run = run_of(1);
  run.steps.steps.clear();
  std::vector<double> all;
  for (const double ms : {10, 11, 80, 12, 13, 90}) {
    run.steps.steps.push_back({run.steps.steps.size(), 0, 1e6 * ms, ms < 50 ? 0u : 1u});
    all.push_back(1e6 * ms);
  }
  run.steps.lengths = lengths_of(all);
  run.steps.types = {{"train", lengths_of({10e6, 11e6, 12e6, 13e6})}, {"evaluation", lengths_of({80e6, 90e6})}};
  run.steps.types[0].lengths.total_ns = 1e9;
  const auto steps = nlohmann::json::parse(report_json(run, {}))["steps"];
  EXPECT_EQ(steps["median_ms"], 11);
  EXPECT_EQ(steps["median_of"], "train");
  EXPECT_EQ(steps["types"][0]["median_ms"], steps["median_ms"]);
  EXPECT_EQ(json_of(run, run)["steps"]["a_median_ms"], steps["median_ms"]);
}

TEST(RunDiff, NoiseIsNoChange) {
  const auto json = json_of(run_of(1), run_of(2, 410));
  EXPECT_FALSE(json["steps"]["significant"]);
  for (const auto& finding : json["findings"]) EXPECT_EQ(finding["change"], "same");
  for (const auto& row : json["kernels"]) EXPECT_FALSE(row["significant"]) << row;
}

TEST(RunDiff, ALongerKernelAndLongerStepsAreChanges) {
  const auto json = json_of(run_of(1), run_of(2, 400, 30, 13));
  EXPECT_TRUE(json["steps"]["significant"]);
  EXPECT_NEAR(json["steps"]["change_pct"].get<double>(), 30, 6);
  ASSERT_EQ(json["kernels"].size(), 1u);
  EXPECT_EQ(json["kernels"][0]["name"], "gemm");
  EXPECT_TRUE(json["kernels"][0]["significant"]);
  EXPECT_NEAR(json["kernels"][0]["b_avg_us"].get<double>(), 30, 1);
  EXPECT_NEAR(json["kernels"][0]["a_share_pct"].get<double>(), 100, 1e-9);
}

TEST(RunDiff, FindingsAppearGrowShrinkAndGo) {
  const auto change = [](double a_ms, double b_ms) {
    const auto json = json_of(run_of(1, a_ms), run_of(2, b_ms));
    return json["findings"].empty() ? std::string("none") : json["findings"][0].value("change", "");
  };
  EXPECT_EQ(change(20, 800), "appeared");
  EXPECT_EQ(change(800, 20), "gone");
  EXPECT_EQ(change(400, 1200), "grew");
  EXPECT_EQ(change(1200, 400), "shrank");
  EXPECT_EQ(change(190, 210), "same") << "on both sides of the threshold of a finding";
}

TEST(RunDiff, AFindingHasItsTimePerStepWhereThereAreSteps) {
  const auto finding = json_of(run_of(1, 400), run_of(2, 400))["findings"][0];
  EXPECT_NEAR(finding["a_ms_per_step"].get<double>(), 2, 0.3);
  RunAnswer without = run_of(1);
  without.steps = {};
  EXPECT_TRUE(json_of(without, without)["findings"][0]["a_ms_per_step"].is_null());
}

// Steps of 10 ms, of which `ms` of each rank's went to a cause of rank 1; the rest is the GPU's.
RunAnswer with_lost(RunAnswer run, double ms, double step_ms = 10) {
  run.ranks = 2;
  run.processes.push_back(run.processes[0]);
  run.processes[1].rank = 1;
  run.processes[0].trace_path = "0";
  run.processes[1].trace_path = "1";
  run.step_members = {"0", "1"};
  StepTime time;
  time.steps = 100;
  time.length_ns = 1e6 * step_ms * 100;
  LostTime lost, rest;
  lost.cause = Cause::kGcPause;
  lost.member = 1;
  lost.ns = 1e6 * ms * 100;
  lost.step_ns.assign(100, 1e6 * ms);
  rest.cause = Cause::kGpuBound;
  rest.ns = time.length_ns - lost.ns;
  rest.step_ns.assign(100, 1e6 * (step_ms - ms));
  time.lost = {rest, lost};
  run.step_time = time;
  return run;
}

nlohmann::json gc_of(const nlohmann::json& diff) {
  for (const auto& finding : diff["findings"])
    if (finding["cause"] == "gc_pause") return finding;
  return nullptr;
}

TEST(RunDiff, ACauseThatIsNoFindingInOneRunIsMeasuredThere) {
  const auto appeared = gc_of(json_of(with_lost(run_of(1), 0.1), with_lost(run_of(2), 2)));
  EXPECT_EQ(appeared["change"], "appeared");
  EXPECT_EQ(appeared["rank"], 1);
  EXPECT_DOUBLE_EQ(appeared["a_ms_per_step"], 0.1);
  EXPECT_DOUBLE_EQ(appeared["b_ms_per_step"], 2);
  EXPECT_EQ(gc_of(json_of(with_lost(run_of(1), 2), with_lost(run_of(2), 0)))["change"], "gone");
  EXPECT_EQ(gc_of(json_of(with_lost(run_of(1), 2), with_lost(run_of(2), 4)))["change"], "grew");
}

TEST(RunDiff, WhatTakesTheSameTimeOfShorterStepsIsTheSame) {
  const auto same = gc_of(json_of(with_lost(run_of(1), 2), with_lost(run_of(2, 400, 20, 5), 2, 5)));
  EXPECT_EQ(same["change"], "same");
  EXPECT_DOUBLE_EQ(same["b_share_pct"], 40);
}

TEST(RunDiff, WhatStepsDifferByAmongThemselvesIsNoChange) {
  RunAnswer noisy = with_lost(run_of(2), 3);
  std::vector<double>& step_ns = noisy.step_time->lost[1].step_ns;
  for (std::size_t i = 0; i < step_ns.size(); ++i) step_ns[i] = i % 50 == 0 ? 150e6 : 0;
  EXPECT_EQ(gc_of(json_of(with_lost(run_of(1), 2), noisy))["change"], "same");
}

TEST(RunDiff, WhereNobodyKnowsTheStepsTimeACauseOfThemDoesNotGo) {
  RunAnswer unknown = with_lost(run_of(2), 2);
  unknown.step_time.reset();
  const auto finding = gc_of(json_of(with_lost(run_of(1), 2), unknown));
  EXPECT_EQ(finding["change"], "same");
  EXPECT_TRUE(finding["b_ms_per_step"].is_null());
}

// ---- the way of a delay ----

RunAnswer with_chain(double wake_us, double skew_us) {
  RunAnswer run = with_lost(run_of(1), 0);
  for (ProcessAnswer& process : run.processes) {
    process.waits.back().wake.add(1e3 * wake_us * (1 + *process.rank), 100);
    process.launches.gap.add(3e3, 1000);
  }
  CollectiveAnswer collective;
  collective.operation = "AllReduce";
  collective.skew.add(1e3 * skew_us, 200);
  run.collectives.push_back(collective);
  return run;
}

TEST(DelayChain, HasItsLinksInOrderAndTheRankWhereEachIsLongest) {
  const auto rows = answer_delay_chain(with_chain(10, 50));
  ASSERT_EQ(rows.size(), 3u) << "no progress thread was seen, nor a kernel";
  EXPECT_EQ(rows[0].link, DelayLink::kWake);
  EXPECT_EQ(rows[0].time.count(), 200u);
  EXPECT_EQ(rows[0].worst, 1);
  EXPECT_NEAR(rows[0].worst_p99_ns, 20e3, 1e3);
  EXPECT_EQ(rows[1].link, DelayLink::kLaunchGap);
  EXPECT_EQ(rows[2].link, DelayLink::kArrival);
  EXPECT_EQ(rows[2].worst, std::nullopt) << "an arrival is of all ranks";
}

TEST(DelayChain, WithoutCollectivesThereIsNone) {
  RunAnswer run = with_chain(10, 50);
  run.collectives.clear();
  EXPECT_TRUE(answer_delay_chain(run).empty());
}

TEST(DelayChain, OfTwoRunsStandsSideBySide) {
  const auto rows = json_of(with_chain(10, 50), with_chain(10, 500))["delay_chain"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["name"], "wake");
  EXPECT_FALSE(rows[0]["significant"]);
  EXPECT_EQ(rows[2]["name"], "arrival");
  EXPECT_TRUE(rows[2]["significant"]);
  EXPECT_NEAR(rows[2]["b_p99_us"].get<double>(), 500, 20);
}

RunPath path_of(double gpu_ms, double communication_ms) {
  RunPath run;
  run.path.share_ns[static_cast<std::size_t>(PathClass::kGpuCompute)] = 1e6 * gpu_ms;
  run.path.share_ns[static_cast<std::size_t>(PathClass::kCommunication)] = 1e6 * communication_ms;
  run.path.length_ns = 1e6 * (gpu_ms + communication_ms);
  run.steps = 40;
  run.looked_at = 10;
  return run;
}

TEST(RunDiff, SharesOfTheCriticalPathAreToldWhereBothRunsHaveOne) {
  RunAnswer a = run_of(1), b = run_of(2);
  EXPECT_TRUE(json_of(a, b)["critical_path_pct"].is_null());
  a.critical_path = path_of(75, 25);
  EXPECT_TRUE(json_of(a, b)["critical_path_pct"].is_null());
  b.critical_path = path_of(50, 50);
  const auto json = json_of(a, b);
  const auto& row = json["critical_path_pct"]["communication"];
  EXPECT_DOUBLE_EQ(row["a_pct"], 25);
  EXPECT_DOUBLE_EQ(row["b_pct"], 50);
  EXPECT_DOUBLE_EQ(row["a_ms_per_step"], 2.5) << "of the steps that were looked at";
  EXPECT_DOUBLE_EQ(row["b_ms_per_step"], 5);
  b.critical_path->steps = 0;
  const auto without = json_of(a, b);
  EXPECT_TRUE(without["critical_path_pct"]["launch"]["b_ms_per_step"].is_null());
}

TEST(RunDiff, RunsWithNothingInCommonAreSaidToHaveNothing) {
  RunAnswer other;
  other.path = "other";
  const auto json = json_of(run_of(1), other);
  EXPECT_TRUE(json["nothing_in_common"]);
  EXPECT_TRUE(json["steps"]["change_pct"].is_null());
  EXPECT_TRUE(json["kernels"][0]["b_avg_us"].is_null());
  EXPECT_EQ(json["kernels"][0]["b_count"], 0);
  EXPECT_FALSE(json["kernels"][0]["significant"]);
  RunAnswer a = run_of(1);
  EXPECT_FALSE(diff_text(compare_runs(a, other), a, other, {}).empty());
  EXPECT_TRUE(json_of(other, other)["nothing_in_common"]);
}

TEST(RunDiff, NoShareIsOverAHundred) {
  RunAnswer run = run_of(1);
  run.processes[0].waits.push_back(site("poll", 9000, 30));  // of five threads beside each other
  const auto json = json_of(run, run);
  for (const auto& row : json["waits"])
    if (!row["a_share_pct"].is_null()) {
      EXPECT_LE(row["a_share_pct"].get<double>(), 100);
    }
}

}  // namespace
}  // namespace hostprobe::analysis
