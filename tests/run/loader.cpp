// loader: programs that are in the dynamic loader at a bad moment, and programs with a sanitizer's runtime in front of libc.
// The loader's locks are theirs: nobody waits for one on our account.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

namespace fs = std::filesystem;

struct Walk {
  const char* name;
  const char* what;       // the child does
  Environment settings;   // of the probe
  std::size_t processes;  // that have a trace
};
void PrintTo(const Walk& walk, std::ostream* out) { *out << walk.name; }

class ForkedInAWalk : public testing::TestWithParam<Walk> {};

TEST_P(ForkedInAWalk, DoesNotWaitForALockThatNobodyGivesBack) {
  const Walk& walk = GetParam();
  const Pair pair({.program = "forks_in_a_walk", .args = {walk.what}, .probe = walk.settings});
  EXPECT_EQ(pair.bare.outcome.out, "child: exit status 5\n");
  expect_same(pair);
  EXPECT_EQ(trace_files(pair.run()).size(), walk.processes);
  if (walk.processes == 0 || walk.settings.count("HOSTPROBE_MODE") != 0) return;
  std::size_t waits = 0;
  for (const Call& call : dump(pair.run()).of("sem_timedwait")) waits += call.pid == pair.probed.number("child");
  EXPECT_EQ(waits, std::string(walk.what) == "dlsym" ? 4u : 7u);
}
INSTANTIATE_TEST_SUITE_P(Loader, ForkedInAWalk,
                         testing::Values(Walk{"lookup", "dlsym", {}, 2}, Walk{"thread", "thread", {}, 2},
                                         Walk{"both_in_trace", "both", {{"HOSTPROBE_MODE", "trace"}}, 2},
                                         Walk{"both_in_monitor", "both", {{"HOSTPROBE_MODE", "monitor"}}, 2},
                                         Walk{"both_in_a_candidate", "both", {{"HOSTPROBE_TARGET", "auto"}}, 0},
                                         Walk{"both_in_no_target", "both", {{"HOSTPROBE_TARGET", "other"}}, 0}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(Loader, ForksBesideThreadsThatLoadAndThreadsThatAreMadeGoOnAsWithoutUs) {
  for (const char* target : {"all", "auto"}) {
    const Pair pair({.program = "forks_while_loading",
                     .args = {program_library("symbols_local")},
                     .probe = {{"HOSTPROBE_TARGET", target}},
                     .limit = std::chrono::seconds(120)});
    EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
    expect_same(pair);
  }
}

// The exiting thread holds the loader's lock until the end.
TEST(Loader, AnExitInAConstructorLeavesACompleteTraceAndNoMemory) {
  for (const char* way : {"exits", "exits_late"}) {
    SCOPED_TRACE(way);
    const Pair pair({.program = "opens_library", .args = {program_library("initialises"), way}});
    EXPECT_TRUE(pair.bare.outcome.exited_with(7)) << pair.bare.outcome.describe();
    expect_same(pair);
    EXPECT_TRUE(orphaned_segments({pair.probed.outcome.pid}).empty());
    EXPECT_EQ(report(pair.run()).at("processes")[0].at("end").at("how"), "exited");
    EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 3u);
  }
}

// In its pthread_create, the thread that the constructor waits for must not wait for the constructor.
TEST(Loader, AConstructorMayWaitForAThreadThatMakesAThread) {
  for (const char* target : {"all", "auto"}) {
    const Pair pair({.program = "opens_library",
                     .args = {program_library("initialises"), "gives_work"},
                     .probe = {{"HOSTPROBE_TARGET", target}}});
    EXPECT_TRUE(pair.bare.outcome.exited_with(4)) << pair.bare.outcome.describe();
    expect_same(pair);
  }
}

class Sanitized : public testing::TestWithParam<std::string> {};

// ASan wants to be the first library of all, where it is one.
TEST_P(Sanitized, ProgramsRunAsWithoutUsAndAreRecorded) {
  const std::string program = "works_with_" + GetParam();
  if (!fs::exists(program_path(program))) GTEST_SKIP() << "this compiler has no such runtime";
  if (ScratchFolder scratch; !run_bare({.program = program}, scratch).outcome.exited_with(6))
    GTEST_SKIP() << "it does not run here without us either";
  const std::vector<Environment> all_settings = {
      {{"HOSTPROBE_TARGET", "all"}, {"HOSTPROBE_MODE", "trace"}},
      {{"HOSTPROBE_TARGET", "other,works*"}},
      {{"HOSTPROBE_TARGET", "auto"}, {"RANK", "0"}},
      {{"HOSTPROBE_TARGET", "auto"}},
      {{"HOSTPROBE_TARGET", "other"}},
  };
  for (const Environment& settings : all_settings) {
    SCOPED_TRACE(testing::PrintToString(settings));
    Victim victim{.program = program, .probe = settings};
    if (GetParam() == "address_shared")
      victim.probe["LD_PRELOAD"] = HOSTPROBE_TEST_ASAN + (":" + probe_library().string());
    const Pair pair(victim);
    expect_same(pair);
    if (settings.at("HOSTPROBE_TARGET") == "all") {
      EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 5u);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Loader, Sanitized,
                         testing::Values("address_static", "address_shared", "thread_static", "thread_shared",
                                         "memory_static", "leak_static", "leak_shared", "undefined_static",
                                         "undefined_shared"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace hostprobe::test
