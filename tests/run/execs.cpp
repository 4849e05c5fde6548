// execs: a program that becomes another one has a complete trace by then and leaves no shared memory; one that fails to goes on
// as if it had not tried.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <tuple>
#include <vector>

#include "answers.h"
#include "run_probed.h"
#include "wait_log.h"

namespace hostprobe::test {
namespace {

constexpr const char* kModes[] = {"trace", "flight", "monitor"};

Environment in_mode(const std::string& mode) { return {{"HOSTPROBE_MODE", mode}}; }

struct Way {
  const char* name;
  int images = 6;
  int waits_each = 2;  // of each image but the first
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class Exec : public testing::TestWithParam<std::tuple<Way, const char*>> {};

TEST_P(Exec, LeavesACompleteTracePerImageAndNoSharedMemory) {
  have_our_own_segments();
  const auto& [way, mode] = GetParam();
  const Pair pair(
      {.program = "execs_itself", .args = {way.name, std::to_string(way.images - 1)}, .probe = in_mode(mode)});
  EXPECT_TRUE(pair.bare.outcome.exited_with(8)) << pair.bare.outcome.describe();
  expect_same(pair);
  std::vector<pid_t> processes;
  for (const auto& line : pair.probed.truth()) {
    processes.push_back(static_cast<pid_t>(std::stoll(line.at(1))));
    EXPECT_LE(std::stoll(line.at(2)), 2) << "segments of its process, while it runs";
  }
  EXPECT_EQ(processes.size(), static_cast<std::size_t>(way.images));
  EXPECT_TRUE(orphaned_segments(processes).empty());
  const auto answers = report(pair.run());
  EXPECT_EQ(blocked_count(answers, "sem_timedwait"), 2u + way.waits_each * (way.images - 1u));
  EXPECT_EQ(lost_count(answers), 0u);
  for (const auto& process : answers.at("processes")) EXPECT_EQ(process.at("end").at("how"), "exited");
  EXPECT_GE(trace_files(pair.run()).size(), static_cast<std::size_t>(way.images));
}
INSTANTIATE_TEST_SUITE_P(
    Execs, Exec,
    testing::Combine(testing::Values(Way{"execve", 51}, Way{"execv"}, Way{"execvp"}, Way{"execvpe"}, Way{"execl"},
                                     Way{"execlp"}, Way{"execle"}, Way{"fexecve"}, Way{"execveat"}, Way{"syscall"},
                                     Way{"thread"}, Way{"handler"}, Way{"fork"}, Way{"fork_waits", 6, 3}, Way{"vfork"}),
                     testing::ValuesIn(kModes)),
    [](const auto& each) { return std::string(std::get<0>(each.param).name) + "_" + std::get<1>(each.param); });

class BusyExec : public testing::TestWithParam<const char*> {};

// Threads go on until the kernel ends them: what their waits had returned by then is there.
TEST_P(BusyExec, KeepsEveryWaitThatHadReturned) {
  have_our_own_segments();
  for (int i = 0; i < 8; ++i) {
    ScratchFolder scratch;
    const OneRun one = run_probed({.program = "leaves", .args = {"exec"}, .probe = in_mode(GetParam())}, scratch);
    EXPECT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
    EXPECT_TRUE(orphaned_segments({one.outcome.pid}).empty());
    const WaitLog* log = map_wait_log((one.folder / "log").c_str());
    ASSERT_NE(log, nullptr);
    std::uint64_t returned = 0, entered = 0;
    for (int thread = 0; thread < 4; ++thread) {
      returned += log->thread[thread].returned;
      entered += log->thread[thread].entered;
    }
    const auto answers = report(scratch.run());
    EXPECT_GE(blocked_count(answers, "sem_timedwait"), returned);
    EXPECT_LE(blocked_count(answers, "sem_timedwait"), entered);
    EXPECT_EQ(lost_count(answers), 0u);
  }
}
INSTANTIATE_TEST_SUITE_P(Execs, BusyExec, testing::ValuesIn(kModes),
                         [](const auto& each) { return std::string(each.param); });

class FailedExec : public testing::TestWithParam<const char*> {};

void expect_all_waits(const Pair& pair) {
  const auto answers = report(pair.run());
  EXPECT_EQ(static_cast<long long>(blocked_count(answers, "sem_timedwait")), pair.probed.number("waits"));
  EXPECT_EQ(lost_count(answers), 0u);
}

TEST_P(FailedExec, GoesOnRecordingWithTheSameError) {
  for (const auto& reasons :
       std::vector<std::vector<std::string>>{{"ENOENT", "ENOENT_along_path", "EACCES", "EACCES_folder", "EFAULT"},
                                             {"E2BIG"},
                                             {"E2BIG_along_path", "ENOEXEC", "E2BIG", "EFAULT_arguments"}}) {
    SCOPED_TRACE(reasons.back());
    Victim victim{.program = "execs_in_vain", .args = reasons, .probe = in_mode(GetParam())};
    victim.probe["HOSTPROBE_ENDED_THREADS"] = "16";
    const Pair pair(victim);
    EXPECT_TRUE(pair.bare.outcome.exited_with(4)) << pair.bare.outcome.describe();
    expect_same(pair);
    expect_all_waits(pair);
    EXPECT_EQ(trace_files(pair.run()).size(), 1u);
    EXPECT_TRUE(orphaned_segments({pair.probed.outcome.pid}).empty());
  }
}

TEST_P(FailedExec, LosesNothingInAProcessThatIsKilledLater) {
  have_our_own_segments();
  for (const char* reason : {"ENOENT", "EACCES_folder", "E2BIG", "ENOEXEC"}) {
    SCOPED_TRACE(reason);
    const Pair pair({.program = "execs_in_vain", .args = {"killed", reason, reason}, .probe = in_mode(GetParam())});
    EXPECT_TRUE(pair.probed.outcome.ended_by(SIGKILL)) << pair.probed.outcome.describe();
    expect_all_waits(pair);
    EXPECT_EQ(orphaned_segments({pair.probed.outcome.pid}).size(), 1u);
  }
}
INSTANTIATE_TEST_SUITE_P(Execs, FailedExec, testing::ValuesIn(kModes),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace hostprobe::test
