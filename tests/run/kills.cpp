// kills: SIGKILL at random instants. Whatever call had returned to the program by then is read back from the run folder,
// in order, by `dump`, by `report` and after `recover`; and recover leaves no shared memory behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "answers.h"
#include "run_probed.h"
#include "wait_log.h"

namespace hostprobe::test {
namespace {

struct Killing {
  const char* name;
  std::vector<std::string> args;
  unsigned threads;
  int runs;
  int longest_us;  // how long after the first wait the kill comes at most
};
void PrintTo(const Killing& killing, std::ostream* out) { *out << killing.name; }

struct Unmap {
  void operator()(WaitLog* log) const { munmap(log, sizeof(WaitLog)); }
};
using Log = std::unique_ptr<WaitLog, Unmap>;

// The log appears in the victim's folder when the victim makes it; the test makes it first and both map the same file.
Log prepared_log(const ScratchFolder& scratch) {
  std::filesystem::create_directories(scratch.path() / "probed");
  return Log(map_wait_log((scratch.path() / "probed/log").c_str()));
}

bool has_ended(pid_t pid) {
  siginfo_t about = {};
  return waitid(P_PID, static_cast<id_t>(pid), &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid == pid;
}

// Every thread has one wait behind it: the trace has begun.
void await_first_waits(const WaitLog& log, unsigned threads, pid_t pid) {
  for (unsigned i = 0; i < threads; ++i)
    while (log.thread[i].returned == 0 && !has_ended(pid)) usleep(50);
}

// The process that waits is the victim or its child: the thread that logs slot 0 is its main thread.
pid_t process_to_kill(const WaitLog& log) { return log.thread[0].tid; }

void expect_all_returned_calls(const WaitLog& log, unsigned threads, const Dump& calls) {
  EXPECT_EQ(calls.lost, 0u);
  for (unsigned i = 0; i < threads; ++i) {
    const LoggedThread& thread = log.thread[i];
    const std::uint64_t first = thread.objects;
    std::vector<Call> waits = calls.of("sem_timedwait", thread.tid);
    std::erase_if(waits, [&](const Call& call) { return call.object() < first || call.object() >= first + 8 * 32; });
    EXPECT_GE(waits.size(), thread.returned.load()) << "thread " << i;
    EXPECT_LE(waits.size(), thread.entered.load()) << "thread " << i;
    std::int64_t last_ns = 0;
    for (std::size_t k = 0; k < waits.size(); ++k) {
      ASSERT_EQ(waits[k].object(), first + k % kLoggedObjects * 32) << "thread " << i << ", call " << k;
      ASSERT_GE(waits[k].begin_ns, last_ns) << "thread " << i << ", call " << k;
      last_ns = waits[k].begin_ns + waits[k].duration_ns;
    }
  }
}

class Killed : public testing::TestWithParam<Killing> {
 protected:
  void kill_once(std::mt19937& random);
};

void Killed::kill_once(std::mt19937& random) {
  const Killing& how = GetParam();
  const int delay_us = std::uniform_int_distribution<int>(0, how.longest_us)(random);
  SCOPED_TRACE(testing::Message() << "killed " << delay_us << " us after the first waits");
  ScratchFolder scratch;
  const Log log = prepared_log(scratch);
  ASSERT_NE(log, nullptr);
  const auto kill_it = [&](pid_t pid) {
    await_first_waits(*log, how.threads, pid);
    usleep(static_cast<useconds_t>(delay_us));
    kill(process_to_kill(*log), SIGKILL);
  };
  const OneRun killed = run_probed({.program = "killed", .args = how.args, .while_running = kill_it}, scratch);
  EXPECT_TRUE(killed.outcome.ended_by(SIGKILL)) << killed.outcome.describe();
  EXPECT_EQ(killed.outcome.err, "");
  const pid_t victim = process_to_kill(*log);
  const Dump before = dump(scratch.run());
  expect_all_returned_calls(*log, how.threads, before);
  const Outcome recovered = run({.command = {probe_command(), "recover", scratch.run()}});
  EXPECT_TRUE(recovered.exited_with(0)) << recovered.describe();
  EXPECT_TRUE(orphaned_segments({victim}).empty());
  const Dump after = dump(scratch.run());
  expect_all_returned_calls(*log, how.threads, after);
  EXPECT_EQ(before.calls.size(), after.calls.size());
  EXPECT_EQ(blocked_count(report(scratch.run()), "sem_timedwait"), after.of("sem_timedwait").size());
}

TEST_P(Killed, AtARandomInstantLeavesEveryReturnedCall) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (int i = 0; i < GetParam().runs && !HasFailure(); ++i) kill_once(random);
}
INSTANTIATE_TEST_SUITE_P(Kills, Killed,
                         testing::Values(Killing{"single_thread_early", {"1"}, 1, 15, 2000},
                                         Killing{"single_thread", {"1"}, 1, 10, 60000},
                                         Killing{"four_threads_early", {"4"}, 4, 15, 2000},
                                         Killing{"four_threads", {"4"}, 4, 15, 80000},
                                         Killing{"ten_threads_of_a_forked_child", {"10", "fork"}, 10, 8, 40000}),
                         [](const auto& each) { return std::string(each.param.name); });

// A run folder is readable at any time. The victim is stopped for a moment, so that what it had done is known.
TEST(Kills, ALivingProcessIsReadWithoutDisturbingIt) {
  ScratchFolder scratch;
  const Log log = prepared_log(scratch);
  ASSERT_NE(log, nullptr);
  const auto look = [&](pid_t pid) {
    await_first_waits(*log, 4, pid);
    for (int i = 0; i < 4; ++i) {
      usleep(20000);
      kill(pid, SIGSTOP);
      siginfo_t stopped = {};
      waitid(P_PID, static_cast<id_t>(pid), &stopped, WSTOPPED | WNOWAIT);
      expect_all_returned_calls(*log, 4, dump(scratch.run()));
      const Outcome recovered = run({.command = {probe_command(), "recover", scratch.run()}});
      EXPECT_TRUE(recovered.exited_with(0)) << recovered.describe();
      kill(pid, SIGCONT);
    }
    kill(pid, SIGKILL);
  };
  const OneRun killed = run_probed({.program = "killed", .args = {"4"}, .while_running = look}, scratch);
  EXPECT_TRUE(killed.outcome.ended_by(SIGKILL)) << killed.outcome.describe();
  expect_all_returned_calls(*log, 4, dump(scratch.run()));
}

// From the loader to the first records: nothing to hold it against but that the folder stays readable.
TEST(Kills, BeforeAndDuringTheFirstRecordsLeaveAReadableFolder) {
  std::mt19937 random(std::random_device{}());
  for (int i = 0; i < 15; ++i) {
    ScratchFolder scratch;
    const Log log = prepared_log(scratch);
    const int delay_us = std::uniform_int_distribution<int>(0, 6000)(random);
    SCOPED_TRACE(testing::Message() << "killed " << delay_us << " us after it was started");
    const auto kill_it = [&](pid_t pid) {
      usleep(static_cast<useconds_t>(delay_us));
      kill(pid, SIGKILL);
    };
    const OneRun killed = run_probed({.program = "killed", .args = {"2"}, .while_running = kill_it}, scratch);
    EXPECT_TRUE(killed.outcome.ended_by(SIGKILL)) << killed.outcome.describe();
    if (trace_files(scratch.run()).empty()) {
      EXPECT_EQ(log->thread[0].returned, 0u);
      remove_segments_of({killed.outcome.pid});  // nobody else could find it
      continue;
    }
    const Dump calls = dump(scratch.run());
    for (unsigned slot = 0; slot < 2; ++slot)
      EXPECT_GE(calls.of("sem_timedwait", log->thread[slot].tid).size(), log->thread[slot].returned.load());
  }
}

}  // namespace
}  // namespace hostprobe::test
