// device: what ran on the simulated devices, as their account and a report that reads it tell it, against what the victim put there;
// and what the report says without, against the account.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "../simnode/exact_times.h"
#include "activity_rows.h"
#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {
namespace fs = std::filesystem;

Victim streams(Environment more = {}) {
  Environment environment = {
      {"LD_LIBRARY_PATH", simnode_folder()}, {"SIMNODE_GPUS", "2"}, {"SIMNODE_KERNEL_US", "k10=10;k50=50;*=1"}};
  environment.insert(std::begin(kExactTimes), std::end(kExactTimes));
  environment.insert(more.begin(), more.end());
  return {.program = "driver_streams", .environment = environment, .probe = {kAccountInRun}};
}

nlohmann::json gpu_in(const nlohmann::json& answers) { return answers.at("processes").at(0).at("gpu"); }
nlohmann::json gpu_of(const Pair& pair) { return gpu_in(report_with_account(pair.run())); }

// The union of all intervals, counted in another way than the report does: by the moments at which it begins and ends.
double union_ms(const fs::path& file) {
  std::vector<std::pair<std::uint64_t, int>> moments;
  for (const ActivityRow& row : activity_rows(file)) {
    moments.emplace_back(row.begin_ns, 1);
    moments.emplace_back(row.end_ns, -1);
  }
  std::sort(moments.begin(), moments.end());
  std::uint64_t busy_ns = 0;
  int running = 0;
  for (std::size_t i = 0; i + 1 < moments.size(); ++i) {
    running += moments[i].second;
    if (running > 0) busy_ns += moments[i + 1].first - moments[i].first;
  }
  return 1e-6 * static_cast<double>(busy_ns);
}

void expect_what_ran(const Pair& pair) {
  const nlohmann::json gpu = gpu_of(pair);
  ASSERT_TRUE(gpu.is_object());
  EXPECT_EQ(gpu.at("source"), "account");
  EXPECT_EQ(gpu.at("kernels"), pair.probed.number("kernels"));
  EXPECT_NEAR(gpu.at("kernel_ms").get<double>(), 1e-3 * static_cast<double>(pair.probed.number("kernel_us")), 1e-6);
  EXPECT_EQ(gpu.at("copies"), pair.probed.number("copies"));
  EXPECT_EQ(gpu.at("fills"), pair.probed.number("fills"));
  const std::vector<fs::path> files = activity_files(pair.run());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_NEAR(gpu.at("busy_ms").get<double>(), union_ms(files[0]), 1e-6);
  EXPECT_EQ(gpu.at("devices").size(), 2u);
  const nlohmann::json alone = report(pair.run());
  EXPECT_EQ(alone.at("processes").at(0).at("launches").at("kernels"), pair.probed.number("kernels"))
      << "those that a graph ran, and none that a capture took";
}

TEST(Device, KernelsCopiesAndFillsAreThoseThatRan) {
  for (const char* mode : {"trace", "flight", "monitor"}) {
    Victim victim = streams();
    victim.probe["HOSTPROBE_MODE"] = mode;
    const Pair pair(victim);
    expect_same(pair);
    SCOPED_TRACE(mode);
    expect_what_ran(pair);
  }
}

TEST(Device, GapsAndBusyTimeFillTheTimeFromTheFirstActivityToTheLast) {
  Victim victim = streams();
  victim.probe["HOSTPROBE_MODE"] = "trace";
  const Pair pair(victim);
  const nlohmann::json gpu = gpu_of(pair);
  const nlohmann::json& gaps = gpu.at("gaps");
  EXPECT_GT(gaps.at("count").get<int>(), 0);
  ASSERT_FALSE(gaps.at("longest").empty());
  double before_ms = 1e300;
  for (const nlohmann::json& gap : gaps.at("longest")) {
    EXPECT_LE(gap.at("ms").get<double>(), before_ms);
    before_ms = gap.at("ms").get<double>();
    EXPECT_TRUE(gap.at("ended_by").at("function").get<std::string>().starts_with("cu"));
    EXPECT_TRUE(gap.at("ended_by").at("thread").is_string());
  }
}

TEST(Device, TheCriticalPathIsWholeAndItsReplayRepeatsTheRun) {
  Victim victim = streams();
  victim.probe["HOSTPROBE_MODE"] = "trace";
  const Pair pair(victim);
  const nlohmann::json answers = report_with_account(pair.run());
  const nlohmann::json& path = answers.at("processes").at(0).at("critical_path");
  ASSERT_TRUE(path.is_object());
  double all = 0;
  for (const auto& [name, share] : path.at("pct").items()) all += share.get<double>();
  EXPECT_NEAR(all, 100, 1e-6);
  EXPECT_NEAR(path.at("replay_drift_pct").get<double>(), 0, 1);
  EXPECT_EQ(answers.at("critical_path_pct"), path.at("pct"));
}

// Two ranks of which the second has a slow GPU: what keeps the job is that GPU's work, not the waiting of the first.
TEST(Device, ThePathOfAJobGoesThroughTheRankThatIsSlow) {
  const ScratchFolder scratch;
  Launch launch;
  launch.command = {probe_command(), "run", "--simgpu", "2", "-o", scratch.run(), "--"};
  launch.command.push_back(built("examples/train_parallel"));
  std::istringstream switches("--ranks 2 --pipeline 1 --steps 12 --kernels 5 --kernel-us 300");
  for (std::string word; switches >> word;) launch.command.push_back(word);
  launch.environment = {{"HOSTPROBE_MODE", "trace"}, {"SIMNODE_FAULT", "slow_gpu,rank=1,amount=3"}};
  const Outcome outcome = hostprobe::test::run(launch);
  ASSERT_TRUE(outcome.exited_with(0)) << outcome.describe();
  const nlohmann::json answers = report(scratch.run());
  const nlohmann::json& path = answers.at("critical_path");
  ASSERT_TRUE(path.is_object()) << "every collective is joined";
  EXPECT_EQ(answers.at("critical_path_pct"), path.at("pct"));
  EXPECT_NEAR(path.at("replay_drift_pct").get<double>(), 0, 1);
  ASSERT_EQ(path.at("ranks").size(), 2u);
  const nlohmann::json &first = path.at("ranks").at(0).at("pct"), &slow = path.at("ranks").at(1).at("pct");
  EXPECT_GT(slow.at("gpu_compute").get<double>(), 5 * first.at("gpu_compute").get<double>());
  EXPECT_GT(slow.at("gpu_compute").get<double>(), 5 * path.at("pct").at("communication").get<double>());
}

// Where steps are detected, gaps are those inside them, and certain idleness is not.
TEST(Device, WhatIsCertainlyIdleIsIdle) {
  Victim victim = streams();
  victim.probe["HOSTPROBE_MODE"] = "trace";
  victim.probe["HOSTPROBE_STEPS"] = "off";
  const Pair pair(victim);
  const nlohmann::json gpu = gpu_of(pair), alone = gpu_in(report(pair.run()));
  for (const nlohmann::json& each : {gpu, alone}) {
    ASSERT_TRUE(each.at("certain_idle").is_object());
    EXPECT_GT(each.at("certain_idle").at("spans").get<int>(), 0);
    EXPECT_LE(each.at("certain_idle_ms").get<double>(), gpu.at("gaps").at("total_ms").get<double>());
  }
}

TEST(Device, FilesAreForTheirOwnerOnly) {
  const Pair pair(streams());
  const std::vector<fs::path> files = activity_files(pair.run());
  ASSERT_EQ(files.size(), 1u);
  struct stat found {};
  ASSERT_EQ(stat(files[0].c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777u, 0600u);
}

TEST(Device, ADriverThatIsNotAskedToLeavesNoFile) {
  Victim victim = streams();
  victim.probe.erase(kAccountInRun.first);
  const Pair pair(victim);
  expect_same(pair);
  EXPECT_TRUE(activity_files(pair.run()).empty());
}

// Too short for timing events: calls tell how many kernels there were and when there was none, and no more.
TEST(Device, WithoutTimingEventsNobodyKnowsHowLongItWasBusy) {
  for (const char* mode : {"trace", "flight"}) {
    SCOPED_TRACE(mode);
    Victim victim = streams();
    victim.probe["HOSTPROBE_MODE"] = mode;
    victim.probe["HOSTPROBE_GPU"] = "off";
    const Pair pair(victim);
    const nlohmann::json gpu = gpu_in(report(pair.run()));
    ASSERT_TRUE(gpu.is_object());
    EXPECT_EQ(gpu.at("source"), "bounds");
    EXPECT_EQ(gpu.at("kernels"), pair.probed.number("kernels"));
    for (const char* figure : {"kernel_ms", "busy_ms", "copies", "fills"})
      EXPECT_TRUE(gpu.at(figure).is_null()) << figure;
    EXPECT_TRUE(gpu.at("by_kernel").empty());
    EXPECT_FALSE(gpu.contains("devices"));
  }
}

// One kernel at a time for two seconds, and much more than the device can do.
TEST(Device, BusyTimeByTimingEventsIsNearTheAccounts) {
  for (const char* how : {"gaps", "full"}) {
    SCOPED_TRACE(how);
    const Pair pair({.program = "driver_timed",
                     .args = {how, "2000"},
                     .environment = {{"LD_LIBRARY_PATH", simnode_folder()}, {"SIMNODE_KERNEL_US", "*=40"}},
                     .probe = {{"HOSTPROBE_MODE", "trace"}, {"HOSTPROBE_BUDGET", "0"}, kAccountInRun},
                     .limit = std::chrono::seconds{120}});
    expect_same(pair);
    const nlohmann::json gpu = gpu_in(report(pair.run())), truth = gpu_of(pair);
    ASSERT_EQ(truth.at("source"), "account");
    ASSERT_EQ(gpu.at("source"), "events");
    for (const char* figure : {"kernels", "copies", "fills"}) EXPECT_EQ(gpu.at(figure), truth.at(figure)) << figure;
    // When one begins in an empty stream, and what an event takes of a full one, is known to some 2 us.
    const double begins_ms = 2e-3 * truth.at("kernels").get<double>();
    for (const char* figure : {"kernel_ms", "busy_ms"}) {
      const double ms = truth.at(figure);
      EXPECT_NEAR(gpu.at(figure).get<double>(), ms, 0.03 * ms + begins_ms) << figure;
    }
  }
}

// A file that may not grow is full: what came later is counted, and has no place in time.
TEST(Device, ALimitOnFilesEndsNeitherTheProgramNorTheCount) {
  Victim victim = {.program = "driver_plt",
                   .environment = {{"LD_LIBRARY_PATH", simnode_folder()}, {"SIMNODE_GPUS", "1"}},
                   .before_exec = [] {
                     const rlimit most{80 << 10, 80 << 10};
                     setrlimit(RLIMIT_FSIZE, &most);
                   }};
  victim.probe = {kAccountInRun};
  const Pair pair(victim);
  EXPECT_EQ(pair.probed.outcome.status, pair.bare.outcome.status);
  const std::vector<fs::path> files = activity_files(pair.run());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_LE(fs::file_size(files[0]), 80u << 10);
}

TEST(Device, BeyondItsSizeKernelsAreOnlyCounted) {
  const Pair pair(streams({{"MORE_KERNELS", "30000"}, {"SIMNODE_LAUNCH_US", "0"}, {"SIMNODE_ACTIVITIES_MB", "1"}}));
  const nlohmann::json gpu = gpu_of(pair);
  EXPECT_EQ(gpu.at("kernels"), pair.probed.number("kernels"));
  EXPECT_NEAR(gpu.at("kernel_ms").get<double>(), 1e-3 * static_cast<double>(pair.probed.number("kernel_us")), 1e-6);
  EXPECT_TRUE(gpu.at("busy_ms").is_null());
  EXPECT_TRUE(gpu.at("gaps").is_null());
}

TEST(Device, AProcessThatIsKilledLeavesWhatItHadPutThere) {
  Victim victim = streams({{"KILL_AT_END", "1"}});
  const Pair pair(victim);
  expect_what_ran(pair);
}

}  // namespace
}  // namespace hostprobe::test
