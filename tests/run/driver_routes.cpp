// driver_routes: every way by which a program gets at the GPU driver. Whatever the way, each launch and each synchronising
// call is counted exactly once: as often as the simulated driver itself was entered, under the name it was entered by.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {
namespace fs = std::filesystem;
using Counts = std::map<std::string, std::uint64_t>;

bool is_hooked(const std::string& name) {
  static const char* const kNames[] = {"cuLaunchKernel",     "cuLaunchKernelEx", "cuLaunchCooperativeKernel",
                                       "cuGraphLaunch",      "cuLaunchHostFunc", "cuStreamSynchronize",
                                       "cuEventSynchronize", "cuCtxSynchronize", "cuCtxSynchronize_v2"};
  const std::string base = name.ends_with("_ptsz") ? name.substr(0, name.size() - 5) : name;
  return std::find(std::begin(kNames), std::end(kNames), base) != std::end(kNames);
}

// What the simulated driver counted in its own entry points.
Counts entered(const fs::path& folder) {
  Counts counts;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    const auto file = nlohmann::json::parse(std::ifstream(entry.path()));
    for (const auto& [name, count] : file.items())
      if (is_hooked(name) && count != 0) counts[name] += count.get<std::uint64_t>();
  }
  return counts;
}

// What the victim says it called.
Counts called(const OneRun& one_run) {
  Counts counts;
  for (const auto& line : one_run.truth())
    if (line.at(0) == "count") counts[line.at(1)] += std::stoull(line.at(2));
  return counts;
}

Counts reported(const fs::path& run_folder) {
  const auto answers = report(run_folder);
  Counts counts = launches_by_function(answers);
  for (const auto& [name, count] : syncs_by_function(answers)) counts[name] += count;
  return counts;
}

Victim on_the_stand_in(const std::string& program, std::vector<std::string> args = {}) {
  return {.program = program,
          .args = std::move(args),
          .environment = {{"LD_LIBRARY_PATH", simnode_folder()}, {"SIMNODE_GPUS", "1"}, {"SIMNODE_COUNTS", "counts"}}};
}

void expect_exact_counts(const Pair& pair) {
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  const Counts truth = entered(pair.probed.folder / "counts");
  EXPECT_EQ(truth, called(pair.probed));
  EXPECT_EQ(reported(pair.run()), truth);
}

// What has been aggregated counts as what is written.
class LaunchesInMode : public testing::TestWithParam<const char*> {};

TEST_P(LaunchesInMode, AreCountedExactly) {
  Victim victim = on_the_stand_in("driver_threads");
  victim.probe = {{"HOSTPROBE_MODE", GetParam()}, {"HOSTPROBE_FLIGHT_MB", "1"}};
  expect_exact_counts(Pair(victim));
}
INSTANTIATE_TEST_SUITE_P(Driver, LaunchesInMode, testing::Values("monitor", "flight", "trace"),
                         [](const auto& each) { return std::string(each.param); });

// All functions of a family, "cuda" or "nccl", that hostprobe says it hooks.
std::vector<std::string> hooked_functions(const std::string& wanted, const std::string& prefix) {
  const Outcome listed = run({.command = {probe_command(), "hooks"}});
  std::vector<std::string> names;
  std::istringstream lines(listed.out);
  for (std::string family, name; lines >> family;) {
    std::string rest;
    std::getline(lines, rest);
    std::istringstream words(rest);
    while (words >> name && !name.starts_with(prefix)) continue;
    if (family == wanted && name.starts_with(prefix)) names.push_back(name);
  }
  return names;
}

void expect_as_many_records_as_entries(const Pair& pair, const std::vector<std::string>& names, std::size_t least) {
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  std::map<std::string, std::uint64_t> recorded;
  for (const Call& call : dump(pair.run()).calls) ++recorded[call.function];
  const fs::path file = fs::directory_iterator(pair.probed.folder / "counts")->path();
  const auto counts = nlohmann::json::parse(std::ifstream(file));
  std::size_t entered_functions = 0;
  for (const std::string& name : names) {
    std::uint64_t count = counts.value(name, std::uint64_t{0});
    // NCCL makes an ncclBroadcast of each ncclBcast; the program called one function.
    if (name == "ncclBroadcast") count -= counts.value("ncclBcast", std::uint64_t{0});
    EXPECT_EQ(recorded[name], count) << name;
    entered_functions += count > 0;
  }
  EXPECT_GT(entered_functions, least);
}

TEST(Driver, EveryHookedFunctionIsRecordedAsOftenAsItWasEntered) {
  const std::vector<std::string> names = hooked_functions("cuda", "cu");
  Victim victim = on_the_stand_in("driver_everything", names);
  victim.probe = {{"HOSTPROBE_POLL_US", "0"}};
  expect_as_many_records_as_entries(Pair(victim), names, 100);
}

TEST(Nccl, EveryHookedFunctionIsRecordedAsOftenAsItWasEntered) {
  const std::vector<std::string> names = hooked_functions("nccl", "nccl");
  expect_as_many_records_as_entries(Pair(on_the_stand_in("nccl_everything", names)), names, 30);
}

// Two tensor parallel ranks, of which the second has a fault.
Launch faulty_second_rank(const ScratchFolder& scratch, const char* fault) {
  Launch launch;
  launch.command = {probe_command(), "run", "--simgpu", "2", "-o", scratch.run(), "--"};
  launch.command.push_back(built("examples/train_parallel"));
  std::istringstream switches("--ranks 2 --pipeline 1 --steps 4 --kernels 4");
  for (std::string word; switches >> word;) launch.command.push_back(word);
  launch.environment = {{"SIMNODE_COUNTS", (scratch.path() / "counts").string()}, {"SIMNODE_FAULT", fault}};
  fs::create_directories(scratch.path() / "counts");
  return launch;
}

TEST(Nccl, TheReportNamesTheRankThatArrivesLast) {
  ScratchFolder scratch;
  const Outcome outcome = run(faulty_second_rank(scratch, "launch_delay,rank=1,amount=3000"));
  EXPECT_TRUE(outcome.exited_with(0)) << outcome.describe();
  std::uint64_t gathers = 0;
  for (const auto& file : fs::directory_iterator(scratch.path() / "counts"))
    gathers += nlohmann::json::parse(std::ifstream(file.path())).value("ncclAllGather", std::uint64_t{0});
  const auto answers = report(scratch.run());
  std::map<std::string, int> roles;
  for (const auto& thread : answers.at("processes").at(0).at("threads")) ++roles[thread.at("role")];
  EXPECT_GE(roles["nccl_progress"], 1);
  EXPECT_GE(roles["nccl_service"], 2);
  const auto& collectives = answers.at("collectives");
  bool gathered = false;
  for (const auto& one : collectives) {
    if (one.at("op") == "Send" || one.at("op") == "Recv" || one.at("ranks") != 2) continue;
    EXPECT_EQ(one.at("partly_seen"), 0) << one;
    EXPECT_EQ(one.at("failed"), 0) << one;
    EXPECT_GT(one.at("skew_p50_us").get<double>(), 3000) << one;
    EXPECT_EQ(one.at("last").at("rank"), 1) << one;
    EXPECT_GT(one.at("last").at("share_pct").get<double>(), 80) << one;
    if (one.at("op") != "AllGather") continue;
    gathered = true;
    EXPECT_EQ(one.at("count").get<std::uint64_t>() * 2, gathers);
  }
  EXPECT_TRUE(gathered) << collectives;
}

std::vector<nlohmann::json> progress_of_rank(const nlohmann::json& report, int rank) {
  for (const auto& process : report.at("processes"))
    if (process.at("rank") == rank && process.at("progress").is_array()) return process.at("progress");
  return {};
}

// Each round of the second rank's progress threads takes 300 microseconds more. Without names, as NCCL has it by itself:
// what the threads were started with tells what they are.
class NcclThreads : public testing::TestWithParam<const char*> {};

TEST_P(NcclThreads, AreKnownWithoutNamesAndTheirPollsAreWatched) {
  ScratchFolder scratch;
  Launch launch = faulty_second_rank(scratch, "proxy_delay,rank=1,amount=300");
  launch.environment["NCCL_SET_THREAD_NAME"] = "0";
  launch.environment["SIMNODE_NCCL_THREADS"] = GetParam();
  const Outcome outcome = run(launch);
  EXPECT_TRUE(outcome.exited_with(0)) << outcome.describe();
  const auto answers = report(scratch.run());
  std::set<std::string> communicators;
  for (const auto& one : answers.at("collectives"))
    if (one.at("comm").is_string()) communicators.insert(one.at("comm"));
  EXPECT_FALSE(progress_of_rank(answers, 0).empty());
  const auto late = progress_of_rank(answers, 1);
  ASSERT_FALSE(late.empty());
  for (const auto& thread : late) {
    EXPECT_EQ(thread.at("role"), "nccl_progress") << thread;
    EXPECT_EQ(thread.at("name").get<std::string>().find("NCCL"), std::string::npos) << thread;
    EXPECT_TRUE(communicators.contains(thread.at("comm"))) << thread;
    EXPECT_GE(thread.at("poll_p50_us").get<double>(), 290) << thread;
    EXPECT_GT(thread.at("stalls").get<int>(), 0) << thread;
    EXPECT_LE(thread.at("stalls").get<int>(), thread.at("polls").get<int>()) << thread;
  }
}

// The second rank stops before it enters a collective; the report is asked for while the job hangs.
TEST(Nccl, TheReportOnAHangingJobNamesTheRankThatIsMissing) {
  ScratchFolder scratch;
  Launch launch = faulty_second_rank(scratch, "missing_rank,rank=1,from_ms=100");
  *(std::find(launch.command.begin(), launch.command.end(), "--steps") + 1) = "100000";
  bool named = false;
  nlohmann::json answers;
  launch.while_running = [&](pid_t job) {
    for (int i = 0; i < 100 && !named; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      if (trace_files(scratch.run()).size() < 2) continue;
      answers = report(scratch.run());
      named = answers.contains("stuck") && answers.at("stuck")[0].at("since_ms") > 5000;
    }
    std::vector<pid_t> ranks;
    for (const auto& process : answers.at("processes")) ranks.push_back(process.at("pid").get<pid_t>());
    kill(job, SIGTERM);
    for (const pid_t rank : ranks) kill(rank, SIGKILL);
  };
  run(launch);
  ASSERT_TRUE(named) << answers.dump(1);
  EXPECT_EQ(answers.at("findings").at(0).at("cause"), "slow_rank");
  EXPECT_EQ(answers.at("findings").at(0).at("rank"), 1);
  for (const auto& stuck : answers.at("stuck")) {
    ASSERT_EQ(stuck.at("missing").size(), 1u) << stuck;
    EXPECT_EQ(stuck.at("missing")[0].at("rank"), 1) << stuck;
    EXPECT_EQ(stuck.at("arrived"), 1) << stuck;
  }
}

// NCCL up to 2.28 calls pthread_create itself, later versions make std::threads.
INSTANTIATE_TEST_SUITE_P(Nccl, NcclThreads, testing::Values("pthread", "std"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Nccl, NamesItsThreadsInATargetUnlessTheUserSaysOtherwise) {
  ScratchFolder scratch;
  EXPECT_TRUE(run(faulty_second_rank(scratch, "")).exited_with(0));
  for (const auto& thread : progress_of_rank(report(scratch.run()), 1))
    EXPECT_TRUE(thread.at("name").get<std::string>().starts_with("NCCL Progress")) << thread;
  EXPECT_FALSE(progress_of_rank(report(scratch.run()), 1).empty());
}

struct Route {
  const char* name;
  const char* program;
  std::vector<std::string> args;
};
void PrintTo(const Route& route, std::ostream* out) { *out << route.name; }

class DriverRoute : public testing::TestWithParam<Route> {};

TEST_P(DriverRoute, CountsEveryCallExactlyOnce) {
  expect_exact_counts(Pair(on_the_stand_in(GetParam().program, GetParam().args)));
}

// The same under `auto`: a program that uses the driver is a target, whichever way it finds it.
TEST_P(DriverRoute, MakesTheProgramATarget) {
  Victim victim = on_the_stand_in(GetParam().program, GetParam().args);
  victim.probe["HOSTPROBE_TARGET"] = "auto";
  expect_exact_counts(Pair(victim));
}

INSTANTIATE_TEST_SUITE_P(
    Driver, DriverRoute,
    testing::Values(
        Route{"plt", "driver_plt", {}}, Route{"plt_of_a_fixed_program", "driver_plt_fixed", {}},
        Route{"pointers_in_data", "driver_pointers", {}},
        Route{"pointers_in_a_fixed_program", "driver_pointers_fixed", {}},
        Route{"dlsym_on_a_handle", "driver_dlsym", {"handle"}}, Route{"dlsym_default", "driver_dlsym", {"default"}},
        Route{"dlsym_next", "driver_dlsym", {"next"}}, Route{"first_procaddress", "driver_procaddress", {"1"}},
        Route{"second_procaddress", "driver_procaddress", {"2"}},
        Route{"first_procaddress_by_its_own_answer", "driver_procaddress", {"1", "own"}},
        Route{"second_procaddress_by_its_own_answer", "driver_procaddress", {"2", "own"}},
        Route{"several_threads_at_once", "driver_threads", {}}, Route{"all_mixed", "driver_mixed", {}},
        Route{"all_mixed_in_a_fixed_program", "driver_mixed_fixed", {}},
        Route{"late_plugin_lazily_bound", "driver_opens_plugin", {program_library("driver_plugin"), "lazy"}},
        Route{"late_plugin", "driver_opens_plugin", {program_library("driver_plugin"), "now"}},
        Route{"deepbind_core", "driver_opens_plugin", {program_library("driver_core"), "deepbind"}},
        Route{"deepbind_plugin", "driver_opens_plugin", {program_library("driver_plugin"), "deepbind"}},
        Route{"plugin_closed_and_opened_again", "driver_opens_plugin", {program_library("driver_plugin"), "now", "3"}},
        Route{"in_a_forked_child", "driver_forks", {}},
        Route{"variables_of_the_same_names", "driver_uses_variables", {}},
        Route{"functions_of_the_same_names", "driver_uses_functions", {}},
        Route{"closed_and_opened_again", "driver_reopened", {}}),
    [](const auto& each) { return std::string(each.param.name); });

class BesideAnotherDlsym : public testing::TestWithParam<bool> {};

TEST_P(BesideAnotherDlsym, CountsEveryCallExactlyOnce) {
  const std::string other = program_library("other_dlsym"), ours = probe_library();
  for (const Route& route : {Route{"", "driver_dlsym", {"handle"}}, Route{"", "driver_procaddress", {"2", "own"}},
                             Route{"", "driver_mixed", {}}}) {
    SCOPED_TRACE(route.program);
    Victim victim = on_the_stand_in(route.program, route.args);
    victim.environment["LD_PRELOAD"] = other;
    victim.probe["LD_PRELOAD"] = GetParam() ? ours + ":" + other : other + ":" + ours;
    expect_exact_counts(Pair(victim));
  }
}
INSTANTIATE_TEST_SUITE_P(Driver, BesideAnotherDlsym, testing::Bool(),
                         [](const auto& each) { return each.param ? "which_comes_after" : "which_comes_first"; });

TEST(Driver, AnswersOddRequestsAsWithoutUs) {
  const Pair pair(on_the_stand_in("driver_odd_requests"));
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
}

// NVIDIA's driver goes when it is closed, wherever its functions are still known.
std::map<std::string, int> calls_of_closed_driver(std::vector<std::string> args) {
  const std::string folder = built("tests/programs/unloadable").string();
  const Pair pair({.program = "driver_closes", .args = std::move(args), .environment = {{"LD_LIBRARY_PATH", folder}}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  std::map<std::string, int> calls;
  for (const Call& call : dump(pair.run()).calls)
    if (call.function.starts_with("cu")) ++calls[call.function];
  return calls;
}

TEST(Driver, MayBeClosedAtOnce) {
  const std::map<std::string, int> called = {
      {"cuLaunchKernel", 1}, {"cuLaunchKernel_ptsz", 1}, {"cuStreamSynchronize_ptsz", 1}, {"cuMemAlloc_v2", 1}};
  EXPECT_EQ(calls_of_closed_driver({}), called);
}

TEST(Driver, MayGoWithThePluginThatIsLinkedToIt) {
  const std::map<std::string, int> called = {{"cuLaunchKernel", 12}};
  EXPECT_EQ(calls_of_closed_driver({program_library("driver_unloadable_plugin")}), called);
}

TEST(Driver, WrappersAreNeverSeenWhenSwitchedOff) {
  Victim victim = on_the_stand_in("driver_mixed");
  victim.probe["HOSTPROBE_OFF"] = "1";
  const Pair pair(victim);
  expect_same(pair);
  EXPECT_EQ(entered(pair.probed.folder / "counts"), called(pair.probed));
  EXPECT_FALSE(fs::exists(pair.run()));
}

// The arguments of launch_round in driver_work.h.
TEST(Driver, LaunchesCarryShapeStreamAndKernel) {
  const Pair pair(on_the_stand_in("driver_dlsym", {"handle"}));
  const Dump calls = dump(pair.run());
  std::size_t shaped = 0;
  for (const Call& call : calls.of("cuLaunchKernel")) {
    EXPECT_EQ(call.text("kernel"), "the_victims_kernel");
    if (call.args.at("shared_bytes") != 96) continue;
    ++shaped;
    EXPECT_EQ(call.args.at("grid"), nlohmann::json({7, 3, 2}));
    EXPECT_EQ(call.args.at("block"), nlohmann::json({32, 4, 1}));
    EXPECT_NE(call.args.at("stream"), "0x0");
  }
  EXPECT_EQ(shaped, 18u);
  for (const Call& call : calls.of("cuLaunchKernelEx")) EXPECT_EQ(call.args.at("grid"), nlohmann::json({5, 1, 1}));
}

TEST(Driver, IsReachedThroughTheLauncherWithNothingElseSet) {
  ScratchFolder scratch;
  fs::create_directories(scratch.path() / "work");
  Launch launch;
  launch.command = {probe_command(), "run", "--simgpu", "1", "-o", scratch.run(), "--", program_path("driver_mixed")};
  launch.environment = {{"SIMNODE_COUNTS", scratch.path() / "counts"}};
  launch.folder = scratch.path() / "work";
  const Outcome outcome = run(launch);
  EXPECT_TRUE(outcome.exited_with(0)) << outcome.describe();
  EXPECT_EQ(reported(scratch.run()), entered(scratch.path() / "counts"));
}

}  // namespace
}  // namespace hostprobe::test
