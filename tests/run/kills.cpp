// kills: the process ends at random instants, by signals, abort, _exit and exit_group. Whatever call had returned to the
// program by then is read back from the run folder, in order, by `dump`, by `report` and after `recover`; and recover leaves
// no shared memory behind. HOSTPROBE_KILLS=1000 run_tests --gtest_filter='*Killed*' ends that many of them.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <tuple>
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
  int longest_us;         // how long after the first wait the end comes at most
  int signal = SIGKILL;   // sent to it
  int ends_by = SIGKILL;  // what it then ends by; 0: it exits
};
struct Keeping {
  const char* name;
  Environment settings;
  bool all_records;                         // else some have been aggregated
  bool dumps = false;                       // which are asked for by a signal, now and then
  std::vector<std::string> living = {"4"};  // what the victim does that is read while it lives
};
using Case = std::tuple<Keeping, Killing>;  // what is kept, and how it is killed
void PrintTo(const Keeping& keeping, std::ostream* out) { *out << keeping.name; }
void PrintTo(const Case& each, std::ostream* out) { *out << std::get<0>(each).name << ' ' << std::get<1>(each).name; }

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

// Those of one place in the log, whichever threads made them.
std::vector<Call> waits_of(const LoggedThread& thread, const Dump& calls) {
  const std::uint64_t first = thread.objects;
  std::vector<Call> waits = calls.of("sem_timedwait");
  std::erase_if(waits, [&](const Call& call) { return call.object() < first || call.object() >= first + 8 * 32; });
  // One thread's calls are in order as they are; those of threads that followed each other stand one thread after another.
  if (std::any_of(waits.begin(), waits.end(), [&](const Call& call) { return call.tid != waits[0].tid; }))
    std::stable_sort(waits.begin(), waits.end(), [](const Call& l, const Call& r) { return l.begin_ns < r.begin_ns; });
  return waits;
}

// _exit closes the trace while the other threads go on: what counts is what had returned before.
std::uint64_t must_be_there(const LoggedThread& thread) {
  return thread.returned_at_leaving != 0 ? thread.returned_at_leaving.load() : thread.returned.load();
}

void expect_all_returned_calls(const WaitLog& log, unsigned threads, const Dump& calls) {
  EXPECT_EQ(calls.lost, 0u);
  for (unsigned i = 0; i < threads; ++i) {
    const LoggedThread& thread = log.thread[i];
    const std::vector<Call> waits = waits_of(thread, calls);
    EXPECT_GE(waits.size(), must_be_there(thread)) << "thread " << i;
    EXPECT_LE(waits.size(), thread.entered.load()) << "thread " << i;
    std::int64_t last_ns = 0;
    for (std::size_t k = 0; k < waits.size(); ++k) {
      ASSERT_EQ(waits[k].object(), thread.objects + k % kLoggedObjects * 32) << "thread " << i << ", call " << k;
      ASSERT_GE(waits[k].begin_ns, last_ns) << "thread " << i << ", call " << k;
      last_ns = waits[k].begin_ns + waits[k].duration_ns;
    }
  }
}

// Not all have records, but their number is exact.
void expect_all_counted(const WaitLog& log, unsigned threads, const char* function, const nlohmann::json& answers) {
  std::uint64_t returned = 0, entered = 0;
  for (unsigned i = 0; i < threads; ++i) {
    returned += must_be_there(log.thread[i]);
    entered += log.thread[i].entered;
  }
  EXPECT_GE(blocked_count(answers, function), returned);
  EXPECT_LE(blocked_count(answers, function),
            entered + 6);  // with those before a fork, and those that a signal interrupts
  EXPECT_EQ(lost_count(answers), 0u);
}

// Those that are left are in order, and none is there twice.
void expect_order(const WaitLog& log, unsigned threads, const Dump& calls) {
  for (unsigned i = 0; i < threads; ++i) {
    std::int64_t last_ns = 0;
    for (const Call& wait : waits_of(log.thread[i], calls)) {
      ASSERT_GE(wait.begin_ns, last_ns) << "thread " << i;
      last_ns = wait.begin_ns + std::max<std::int64_t>(wait.duration_ns, 1);
    }
  }
}

// What the run folder says, before and after `recover`.
void expect_nothing_lost(const ScratchFolder& scratch, const WaitLog& log, const Case& each) {
  const auto& [keeping, how] = each;
  if (how.args.back() == "short") return expect_all_counted(log, how.threads, "ppoll", report(scratch.run()));
  const Dump calls = dump(scratch.run());
  if (!keeping.all_records) {
    expect_order(log, how.threads, calls);
    return expect_all_counted(log, how.threads, "sem_timedwait", report(scratch.run()));
  }
  expect_all_returned_calls(log, how.threads, calls);
  const auto answers = report(scratch.run());
  EXPECT_EQ(blocked_count(answers, "sem_timedwait"), calls.of("sem_timedwait").size());
  EXPECT_EQ(lost_count(answers), 0u);
}

int runs_of(const Case& each, std::size_t cases) {
  const auto& [keeping, how] = each;
  if (const char* all = std::getenv("HOSTPROBE_KILLS"))
    return std::max(1, (std::atoi(all) + static_cast<int>(cases) - 1) / static_cast<int>(cases));
  return keeping.name == std::string("trace") ? how.runs : std::max(2, how.runs / 4);
}

class Killed : public testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() { have_our_own_segments(); }
  void kill_once(std::mt19937& random);
};

void Killed::kill_once(std::mt19937& random) {
  const auto& [keeping, how] = GetParam();
  const int delay_us = std::uniform_int_distribution<int>(0, how.longest_us)(random);
  SCOPED_TRACE(testing::Message() << "ended " << delay_us << " us after the first waits");
  ScratchFolder scratch;
  const Log log = prepared_log(scratch);
  ASSERT_NE(log, nullptr);
  const auto end_it = [&, &how = how, &keeping = keeping](pid_t pid) {
    await_first_waits(*log, how.threads, pid);
    for (int asked = 0; keeping.dumps && asked < 3; ++asked) {
      kill(process_to_kill(*log), SIGUSR2);
      usleep(static_cast<useconds_t>(delay_us / 3));
    }
    if (!keeping.dumps) usleep(static_cast<useconds_t>(delay_us));
    kill(process_to_kill(*log), how.signal);
  };
  Victim victim{.program = "killed", .args = how.args, .probe = keeping.settings, .while_running = end_it};
  if (how.args.back() == "short") victim.probe["HOSTPROBE_WAIT_US"] = "100";
  const OneRun killed = run_probed(victim, scratch);
  EXPECT_TRUE(how.ends_by == 0 ? !killed.outcome.over_time && WIFEXITED(killed.outcome.status)
                               : killed.outcome.ended_by(how.ends_by))
      << killed.outcome.describe();
  EXPECT_EQ(killed.outcome.err, "");
  expect_nothing_lost(scratch, *log, GetParam());
  const std::size_t before = dump(scratch.run()).calls.size();
  const Outcome recovered = run({.command = {probe_command(), "recover", scratch.run()}});
  EXPECT_TRUE(recovered.exited_with(0)) << recovered.describe();
  EXPECT_TRUE(orphaned_segments({process_to_kill(*log)}).empty());
  expect_nothing_lost(scratch, *log, GetParam());
  EXPECT_EQ(before, dump(scratch.run()).calls.size());
}

const std::vector<Killing> kKillings = {
    {"single_thread_early", {"1"}, 1, 15, 2000},
    {"single_thread", {"1"}, 1, 10, 60000},
    {"four_threads_early", {"4"}, 4, 15, 2000},
    {"four_threads", {"4"}, 4, 15, 80000},
    {"ten_threads_of_a_forked_child", {"10", "fork"}, 10, 8, 40000},
    {"short_lived_threads", {"6", "lives"}, 6, 12, 40000},
    {"short_waits", {"3", "short"}, 3, 10, 40000},
    {"single_thread_segfaults", {"1", "segfault"}, 1, 4, 40000, SIGUSR1, SIGSEGV},
    {"four_threads_segfault", {"4", "segfault"}, 4, 4, 40000, SIGUSR1, SIGSEGV},
    {"four_threads_by_a_signal_from_outside", {"4"}, 4, 4, 40000, SIGSEGV, SIGSEGV},
    {"single_thread_aborts", {"1", "abort"}, 1, 4, 40000, SIGUSR1, SIGABRT},
    {"four_threads_abort", {"4", "abort"}, 4, 4, 40000, SIGUSR1, SIGABRT},
    {"single_thread_by_under_exit", {"1", "_exit"}, 1, 4, 40000, SIGUSR1, 0},
    {"four_threads_by_under_exit", {"4", "_exit"}, 4, 4, 40000, SIGUSR1, 0},
    {"single_thread_by_exit_group", {"1", "exit_group"}, 1, 4, 40000, SIGUSR1, 0},
    {"four_threads_by_exit_group", {"4", "exit_group"}, 4, 4, 40000, SIGUSR1, 0},
};

const std::vector<Keeping> kKeepings = {
    {"trace", {{"HOSTPROBE_MODE", "trace"}}, true},
    {"flight", {{"HOSTPROBE_MODE", "flight"}}, true},
    {"flight_of_little", {{"HOSTPROBE_MODE", "flight"}, {"HOSTPROBE_FLIGHT_MB", "1"}}, false},
    {"flight_with_dumps",
     {{"HOSTPROBE_MODE", "flight"}, {"HOSTPROBE_TRIGGER_SIGNAL", "USR2"}, {"HOSTPROBE_TRIGGER_S", "0"}},
     false,
     true},
    {"monitor", {{"HOSTPROBE_MODE", "monitor"}}, false},
    {"monitor_that_merges",
     {{"HOSTPROBE_MODE", "monitor"}, {"HOSTPROBE_ENDED_THREADS", "16"}},
     false,
     false,
     {"4", "lives"}},
    {"flight_that_merges",
     {{"HOSTPROBE_MODE", "flight"},
      {"HOSTPROBE_FLIGHT_MB", "1"},
      {"HOSTPROBE_ENDED_THREADS", "16"},
      {"HOSTPROBE_TRIGGER_SIGNAL", "USR2"},
      {"HOSTPROBE_TRIGGER_S", "0"}},
     false,
     true,
     {"4", "lives"}},
};

TEST_P(Killed, AtARandomInstantLeavesEveryReturnedCall) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const int runs = runs_of(GetParam(), kKillings.size() * kKeepings.size());
  for (int i = 0; i < runs && !HasFailure(); ++i) kill_once(random);
  RecordProperty("runs", runs);
}
INSTANTIATE_TEST_SUITE_P(Kills, Killed, testing::Combine(testing::ValuesIn(kKeepings), testing::ValuesIn(kKillings)),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param).name) + "_" + std::get<1>(each.param).name;
                         });

// A run folder is readable at any time. The victim is stopped for a moment, so that what it had done is known.
class Reading : public testing::TestWithParam<Keeping> {};

TEST_P(Reading, OfALivingProcessDisturbsNothingAndMissesNothing) {
  const Keeping& keeping = GetParam();
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
      if (keeping.all_records)
        expect_all_returned_calls(*log, 4, dump(scratch.run()));
      else
        expect_all_counted(*log, 4, "sem_timedwait", report(scratch.run()));
      const Outcome recovered = run({.command = {probe_command(), "recover", scratch.run()}});
      EXPECT_TRUE(recovered.exited_with(0)) << recovered.describe();
      kill(pid, SIGCONT);
    }
    kill(pid, SIGKILL);
  };
  const OneRun killed = run_probed(
      {.program = "killed", .args = keeping.living, .probe = keeping.settings, .while_running = look}, scratch);
  EXPECT_TRUE(killed.outcome.ended_by(SIGKILL)) << killed.outcome.describe();
  expect_nothing_lost(scratch, *log, {keeping, {"", keeping.living, 4, 0, 0}});
}
INSTANTIATE_TEST_SUITE_P(Kills, Reading, testing::ValuesIn(kKeepings),
                         [](const auto& each) { return std::string(each.param.name); });

// It runs on, and is read again and again: no count may ever fall, and none may be ahead of what was done.
TEST_P(Reading, OfAProcessThatRunsOnNeverCountsTwice) {
  const Keeping& keeping = GetParam();
  ScratchFolder scratch;
  const Log log = prepared_log(scratch);
  ASSERT_NE(log, nullptr);
  const auto look = [&](pid_t pid) {
    await_first_waits(*log, 4, pid);
    for (int i = 0; i < 12; ++i) {
      std::uint64_t returned = 0, entered = 0;
      for (unsigned t = 0; t < 4; ++t) returned += log->thread[t].returned;
      const auto answers = report(scratch.run());
      for (unsigned t = 0; t < 4; ++t) entered += log->thread[t].entered;
      EXPECT_GE(blocked_count(answers, "sem_timedwait"), returned);
      EXPECT_LE(blocked_count(answers, "sem_timedwait"), entered);
      EXPECT_EQ(lost_count(answers), 0u);
    }
    kill(pid, SIGKILL);
  };
  run_probed({.program = "killed", .args = keeping.living, .probe = keeping.settings, .while_running = look}, scratch);
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
