// processes: fork in all its forms, exec, spawned programs, daemons, and every door by which a process can leave.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "answers.h"
#include "run_probed.h"
#include "wait_log.h"

namespace hostprobe::test {
namespace {

std::map<long long, std::size_t> waits_by_process(const Dump& calls) {
  std::map<long long, std::size_t> counts;
  for (const Call& call : calls.of("sem_timedwait")) ++counts[call.pid];
  return counts;
}

class Forked : public testing::TestWithParam<const char*> {};

TEST_P(Forked, ParentChildAndGrandchildEachHaveATraceOfTheirOwn) {
  const Pair pair({.program = "forks", .args = {GetParam()}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  const std::map<std::string, std::size_t> expected = {{"parent", 8}, {"child", 7}, {"grandchild", 11}};
  auto counts = waits_by_process(dump(pair.run()));
  for (const auto& line : pair.probed.truth())
    EXPECT_EQ(counts[std::stoll(line.at(2))], expected.at(line.at(1))) << line.at(1);
  EXPECT_EQ(counts.size(), 3u);
  EXPECT_EQ(trace_files(pair.run()).size(), 3u);
}
INSTANTIATE_TEST_SUITE_P(Processes, Forked, testing::Values("fork", "_Fork", "clone"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Processes, ForkedFromAThreadWhileOthersRecordAreCompleteOnBothSides) {
  const Pair pair({.program = "forks_while_recording"});
  expect_same(pair);
  const Dump calls = dump(pair.run());
  auto counts = waits_by_process(calls);
  std::size_t children = 0;
  for (const auto& line : pair.probed.truth()) {
    if (line.at(0) != "child") continue;
    ++children;
    EXPECT_EQ(counts[std::stoll(line.at(1))], 7u) << "child " << line.at(1);
  }
  EXPECT_EQ(children, 25u);
  EXPECT_EQ(static_cast<long long>(counts[pair.probed.number("parent")] + calls.lost), pair.probed.number("waits"));
}

TEST(Processes, AStormOfTwoHundredForksLosesNoChild) {
  const Pair pair({.program = "fork_storm"});
  expect_same(pair);
  const Dump calls = dump(pair.run());
  EXPECT_EQ(calls.of("sem_timedwait").size() + calls.lost, 202u);
  EXPECT_EQ(trace_files(pair.run()).size(), 201u);
}

class Spawned : public testing::TestWithParam<const char*> {};

TEST_P(Spawned, ProgramsThatAreNoTargetsRecordNothingAndWriteNoFile) {
  const Pair pair({.program = "spawns", .args = {GetParam()}, .probe = {{"HOSTPROBE_TARGET", "spawns"}}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  EXPECT_EQ(trace_files(pair.run()).size(), 1u);
  const auto counts = waits_by_process(dump(pair.run()));
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts.begin()->first, pair.probed.number("parent"));
  EXPECT_EQ(counts.begin()->second, 9u);
}
INSTANTIATE_TEST_SUITE_P(Processes, Spawned, testing::Values("vfork", "posix_spawn", "system", "popen"),
                         [](const auto& each) { return std::string(each.param); });

// What a vfork child does before its exec happens in the parent's memory: it must not end up among the parent's calls.
TEST(Processes, AVforkChildThatWaitsRecordsNothing) {
  const Pair pair({.program = "spawns", .args = {"busy-vfork"}});
  expect_same(pair);
  const Dump calls = dump(pair.run());
  for (const Call& call : calls.calls) EXPECT_EQ(call.tid, pair.probed.number("parent")) << call.function;
  EXPECT_EQ(calls.of("sem_timedwait").size(), 9u);
  EXPECT_EQ(trace_files(pair.run()).size(), 1u);
}

TEST(Processes, AProgramThatExecsItselfLeavesOneTracePerImage) {
  const Pair pair({.program = "execs_itself", .args = {"3"}});
  EXPECT_TRUE(pair.probed.outcome.exited_with(8)) << pair.probed.outcome.describe();
  expect_same(pair);
  EXPECT_EQ(trace_files(pair.run()).size(), 4u);
  EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 8u);
}

TEST(Processes, ADaemonGoesOnRecordingAfterItsParentsHaveGone) {
  const Pair pair({.program = "daemon_of_two_forks"});
  expect_same(pair);
  auto counts = waits_by_process(dump(pair.run()));
  EXPECT_EQ(counts[pair.probed.number("daemon")], 30u);
  EXPECT_EQ(counts[pair.probed.outcome.pid], 2u);
}

struct Door {
  const char* way;
  int code;    // exit status, or
  int signal;  // the signal that ends it
};
void PrintTo(const Door& door, std::ostream* out) { *out << door.way; }

class Leaving : public testing::TestWithParam<Door> {};

// Of a process that is killed in the middle, kills.cpp asks for more: what returned until the very end.
TEST_P(Leaving, KeepsEveryWaitThatHadReturnedBefore) {
  const Door door = GetParam();
  const Pair pair({.program = "leaves", .args = {door.way}});
  EXPECT_TRUE(door.signal == 0 ? pair.bare.outcome.exited_with(door.code) : pair.bare.outcome.ended_by(door.signal))
      << pair.bare.outcome.describe();
  expect_same(pair);
  const WaitLog* log = map_wait_log((pair.probed.folder / "log").c_str());
  ASSERT_NE(log, nullptr);
  const Dump calls = dump(pair.run());
  for (int i = 0; i < 4; ++i) {
    const LoggedThread& thread = log->thread[i];
    const std::uint64_t found = calls.of("sem_timedwait", thread.tid).size();
    EXPECT_GE(found, thread.returned_at_leaving.load()) << "thread " << i;
    EXPECT_LE(found, thread.entered.load()) << "thread " << i;
  }
  EXPECT_EQ(calls.lost, 0u) << report(pair.run()).dump(1);
}
INSTANTIATE_TEST_SUITE_P(Processes, Leaving,
                         testing::Values(Door{"return", 26, 0}, Door{"exit", 20, 0}, Door{"exit-in-thread", 21, 0},
                                         Door{"_exit", 22, 0}, Door{"_Exit", 23, 0}, Door{"quick_exit", 24, 0},
                                         Door{"exit_group", 25, 0}, Door{"abort", 0, SIGABRT},
                                         Door{"segfault", 0, SIGSEGV}, Door{"sigkill", 0, SIGKILL},
                                         Door{"sigterm", 0, SIGTERM}),
                         [](const auto& each) {
                           std::string name = each.param.way;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name[0] == '_' ? "under" + name : name;
                         });

class Restricted : public testing::TestWithParam<const char*> {};

// A call of ours that the program's filter does not know would be the end of the program.
TEST_P(Restricted, GoesOnAsWithoutUsAndKeepsWhatCameBefore) {
  const std::string way = GetParam();
  const Pair pair({.program = "restricts_itself", .args = {way}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(7)) << pair.bare.outcome.describe();
  expect_same(pair, 1);
  EXPECT_EQ(probe_messages(pair.probed.outcome.err).size(), 1u);
  const bool asks_first = way == "syscall" || way == "all_threads";
  EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), asks_first ? 5u : 3u);
}
INSTANTIATE_TEST_SUITE_P(Processes, Restricted, testing::Values("strict", "prctl", "syscall", "all_threads"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Processes, WaitsInConstructorsExitHandlersAndDestructorsAreAllRecorded) {
  const Pair pair({.program = "waits_at_exit"});
  EXPECT_TRUE(pair.bare.outcome.exited_with(6)) << pair.bare.outcome.describe();
  expect_same(pair);
  EXPECT_EQ(static_cast<long long>(dump(pair.run()).of("sem_timedwait").size()), pair.probed.number("waits"));
}

TEST(Processes, ThatEndByThemselvesLeaveNoSharedMemoryBehind) {
  const Pair pair({.program = "works"});
  expect_same(pair);
  EXPECT_TRUE(orphaned_segments({pair.probed.outcome.pid}).empty());
}

// SIMNODE_HOSTS and what goes with it concern the trace only.
TEST(SimulatedHosts, HaveNamesAndClocksOfTheirOwn) {
  ScratchFolder scratch;
  for (const char* rank : {"0", "1"}) {
    const Environment job = {
        {"RANK", rank}, {"WORLD_SIZE", "2"}, {"SIMNODE_HOSTS", "2"}, {"SIMNODE_CLOCK_OFFSET_MS", "0,7200000"}};
    const OneRun one = run_probed({.program = "works", .args = {"10"}, .environment = job}, scratch);
    EXPECT_TRUE(one.outcome.exited_with(5)) << one.outcome.describe();
  }
  const auto run = report(scratch.run()).at("run");
  ASSERT_EQ(run.at("hosts").size(), 2u) << run;
  EXPECT_TRUE(run.at("hosts")[0].get<std::string>().ends_with("-sim0")) << run;
  EXPECT_TRUE(run.at("hosts")[1].get<std::string>().ends_with("-sim1")) << run;
  EXPECT_GT(run.at("wall_s").get<double>(), 7000) << "the second host believes to be two hours ahead";
}

}  // namespace
}  // namespace hostprobe::test
