// processes: fork in all its forms, exec, spawned programs, daemons, and every door by which a process can leave.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

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
INSTANTIATE_TEST_SUITE_P(Processes, Forked, testing::Values("fork", "_Fork", "clone", "clone3"),
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

class Generations : public testing::TestWithParam<const char*> {};

TEST_P(Generations, KeepNothingOfTheirForebearsMemory) {
  const Pair pair({.program = "generations", .args = {GetParam()}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  EXPECT_LE(pair.probed.number("segments"), 1);
  // Where a pointer may be left over, empty pages stay: address space, no memory.
  if (std::string(GetParam()) == "fork") {
    EXPECT_LT(pair.probed.number("late") - pair.probed.number("early"), 4096);
  }
  EXPECT_EQ(trace_files(pair.run()).size(), 41u);
  EXPECT_EQ(dump(pair.run()).lost, 0u);
}
INSTANTIATE_TEST_SUITE_P(Processes, Generations, testing::Values("fork", "handler"),
                         [](const auto& each) { return std::string(each.param); });

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
                                         Door{"exit_group", 25, 0}, Door{"exit_group_inline", 27, 0},
                                         Door{"abort", 0, SIGABRT}, Door{"segfault", 0, SIGSEGV},
                                         Door{"sigkill", 0, SIGKILL}, Door{"sigterm", 0, SIGTERM}),
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

struct Restriction {
  const char* way;
  const char* child;
  const char* target;
};
void PrintTo(const Restriction& restriction, std::ostream* out) { *out << restriction.way << ' ' << restriction.child; }

class RestrictedFamily : public testing::TestWithParam<Restriction> {};

// A filter is inherited, so what was given up in the parent is given up in its children, recorded or not.
TEST_P(RestrictedFamily, LivesAsWithoutUs) {
  const Restriction& restriction = GetParam();
  for (const char* mode : {"trace", "flight", "monitor"}) {
    const Pair pair({.program = "restricts_its_children",
                     .args = {restriction.way, restriction.child},
                     .probe = {{"HOSTPROBE_MODE", mode}, {"HOSTPROBE_TARGET", restriction.target}}});
    EXPECT_TRUE(pair.bare.outcome.exited_with(7)) << pair.bare.outcome.describe();
    expect_same(pair, 1);
    EXPECT_LE(trace_files(pair.run()).size(), 1u);
    if (trace_files(pair.run()).empty() || std::string(mode) == "monitor") continue;
    EXPECT_LE(dump(pair.run()).of("sem_timedwait").size(), 4u) << mode;
    EXPECT_GE(dump(pair.run()).of("sem_timedwait").size(), 3u) << mode;
  }
}
INSTANTIATE_TEST_SUITE_P(Processes, RestrictedFamily,
                         testing::Values(Restriction{"prctl", "fork", "all"}, Restriction{"bare_prctl", "fork", "all"},
                                         Restriction{"seccomp", "fork", "all"}, Restriction{"seccomp", "_Fork", "all"},
                                         Restriction{"seccomp", "clone", "all"}, Restriction{"seccomp", "vfork", "all"},
                                         Restriction{"seccomp", "at_exit", "all"},
                                         Restriction{"all_threads", "fork", "all"},
                                         Restriction{"seccomp", "fork", "auto"},
                                         Restriction{"bare_prctl", "_Fork", "auto"},
                                         Restriction{"seccomp", "fork", "others"}),
                         [](const auto& each) {
                           return std::string(each.param.way) + "_by" + (each.param.child[0] == '_' ? "" : "_") +
                                  each.param.child + "_of_" + each.param.target;
                         });

// The trace has ended by then, but no filter forbids the child one of its own.
class ChildAtExit : public testing::TestWithParam<const char*> {};

// The parent's trace has ended, or is about to, but no filter forbids the child one of its own.
TEST_P(ChildAtExit, Records) {
  const Pair pair({.program = "forks_at_exit", .args = {GetParam()}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  auto counts = waits_by_process(dump(pair.run()));
  EXPECT_EQ(counts[pair.probed.number("child")], 6u);
  EXPECT_EQ(counts[pair.probed.outcome.pid], 4u);
}
INSTANTIATE_TEST_SUITE_P(Processes, ChildAtExit, testing::Values("handler", "cleanup"),
                         [](const auto& each) { return std::string(each.param); });

void expect_only_its_own_waits(const Pair& pair) {
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  const Dump calls = dump(pair.run());
  for (const Call& call : calls.calls) EXPECT_EQ(call.pid, pair.probed.outcome.pid) << call.function;
  EXPECT_EQ(static_cast<long long>(calls.of("sem_timedwait").size()), pair.probed.number("waits"));
}

class NestedVforks : public testing::TestWithParam<const char*> {};

TEST_P(NestedVforks, ReturnEachToItsOwnCallerAndTheParentRecordsOn) {
  expect_only_its_own_waits(Pair({.program = "vforks_in_vforks", .args = {GetParam()}}));
}
INSTANTIATE_TEST_SUITE_P(Processes, NestedVforks,
                         testing::Values("two", "three", "many", "execs", "middle_killed", "child_killed", "in_handler",
                                         "threads"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Processes, AnotherVforkInTheProcessKeepsItsPlace) {
  const std::string other = program_path("libother_vfork.so"), ours = probe_library();
  for (const std::string& order : {other + ":" + ours, ours + ":" + other}) {
    SCOPED_TRACE(order);
    expect_only_its_own_waits(Pair({.program = "vforks_in_vforks",
                                    .args = {"counted"},
                                    .environment = {{"LD_PRELOAD", other}},
                                    .probe = {{"LD_PRELOAD", order}}}));
  }
}

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
class OwnSegment : public testing::TestWithParam<const char*> {};

// The first segment of a new namespace has the number that ours has in the old one.
TEST_P(OwnSegment, OfTheProgramOutlivesItWhateverItsNumber) {
  const auto in_a_new_namespace = [] {
    if (unshare(CLONE_NEWIPC) != 0) _exit(77);
  };
  const Pair pair({.program = "keeps_its_segment", .args = {GetParam()}, .before_exec = in_a_new_namespace});
  if (pair.bare.outcome.exited_with(77)) GTEST_SKIP() << "IPC namespaces are not permitted here";
  expect_same(pair);
  EXPECT_EQ(pair.probed.outcome.out, "after its maker has ended the segment is there, it holds 4711\n");
  EXPECT_EQ(pair.probed.number("segment"), 0);
}
INSTANTIATE_TEST_SUITE_P(Processes, OwnSegment, testing::Values("alone", "threads"),
                         [](const auto& each) { return std::string(each.param); });

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
