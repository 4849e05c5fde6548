// next_programs: programs that the library cannot be loaded into, or only behind another, started by one that records.
#include <gtest/gtest.h>

#include <algorithm>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {
namespace fs = std::filesystem;

constexpr char kMusl[] = "says_hello_musl", kAsan[] = "works_with_address_shared";

class NextProgram : public testing::TestWithParam<const char*> {
 protected:
  Pair started(const char* program) {
    return Pair({.program = "starts_program",
                 .args = {GetParam(), program_path(program).string()},
                 .environment = {{"ASAN_OPTIONS", "detect_leaks=0"}}});
  }
};

TEST_P(NextProgram, BuiltAgainstMuslRunsAsWithoutUs) {
  if (!fs::exists(program_path(kMusl))) GTEST_SKIP() << "musl-gcc is not here";
  const Pair pair = started(kMusl);
  EXPECT_TRUE(pair.bare.outcome.exited_with(3)) << pair.bare.outcome.describe();
  EXPECT_NE(pair.bare.outcome.out.find("hello\n"), std::string::npos);
  expect_same(pair);
}

TEST_P(NextProgram, WithAsanAsALibraryRunsAsWithoutUsAndIsRecorded) {
  if (!fs::exists(program_path(kAsan))) GTEST_SKIP() << "this compiler has no such runtime";
  if (ScratchFolder scratch; !run_bare({.program = kAsan}, scratch).outcome.exited_with(6))
    GTEST_SKIP() << "it does not run here without us either";
  const Pair pair = started(kAsan);
  EXPECT_TRUE(pair.bare.outcome.exited_with(3)) << pair.bare.outcome.describe();
  expect_same(pair);
  EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 7u + 5u);
}
INSTANTIATE_TEST_SUITE_P(NextPrograms, NextProgram,
                         testing::Values("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve",
                                         "execveat", "syscall", "vfork", "script", "posix_spawn", "posix_spawnp"),
                         [](const auto& each) { return std::string(each.param); });

Outcome run_by_command(const fs::path& run, const std::vector<std::string>& words) {
  std::vector<std::string> command = {probe_command().string(), "run", "-o", run.string(), "--"};
  command.insert(command.end(), words.begin(), words.end());
  return hostprobe::test::run({.command = command});
}

TEST(RunCommand, StartsAProgramBuiltAgainstMuslWithoutUsAndSaysSo) {
  if (!fs::exists(program_path(kMusl))) GTEST_SKIP() << "musl-gcc is not here";
  ScratchFolder scratch;
  const Outcome outcome = run_by_command(scratch.run(), {program_path(kMusl).string()});
  EXPECT_TRUE(outcome.exited_with(5)) << outcome.describe();
  EXPECT_EQ(outcome.out, "hello\n");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find("built against musl"), std::string::npos) << outcome.err;
}

// What it starts in turn gets the preload as the user would have given it.
TEST(RunCommand, RecordsAProgramWithAsanAsALibrary) {
  if (!fs::exists(program_path(kAsan))) GTEST_SKIP() << "this compiler has no such runtime";
  ScratchFolder scratch;
  if (!run_bare({.program = kAsan}, scratch).outcome.exited_with(6))
    GTEST_SKIP() << "it does not run here without us either";
  const Outcome outcome = run_by_command(scratch.run(), {program_path(kAsan).string()});
  EXPECT_TRUE(outcome.exited_with(6)) << outcome.describe();
  EXPECT_EQ(dump(scratch.run()).of("sem_timedwait").size(), 5u);
}

}  // namespace
}  // namespace hostprobe::test
