// switches: when the kernel put threads on a CPU and took them off it, held against what else is known: the order of waits, posts and
// switches, and the kernel's own counts. And what happens where the kernel says no.
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

struct Span {
  std::int64_t out_ns, in_ns;
  bool preempted;
};
using Thread = std::pair<long long, long long>;  // pid and tid

struct Wait {
  std::int64_t begin_ns, post_ns, end_ns;
};

struct Order {
  std::uint64_t kept = 0, broken = 0;
};

// As a script would ask: `hostprobe dump RUN --json --switches`.
template <class OnLine>
void each_line(const std::filesystem::path& folder, OnLine on_line) {
  Launch launch;
  launch.command = {probe_command(), "dump", folder, "--json", "--switches"};
  const Outcome outcome = run(launch);
  EXPECT_TRUE(outcome.exited_with(0)) << outcome.describe();
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) on_line(nlohmann::json::parse(line));
}

Thread thread_of(const nlohmann::json& line) {
  return {line.at("pid"), line.at("tid").is_null() ? 0 : line.at("tid").get<long long>()};
}

struct Told {
  std::map<Thread, std::vector<Span>> spans;
  std::map<Thread, std::vector<Wait>> waits;  // that a known post ended
};

Told told_by(const std::filesystem::path& folder) {
  Told told;
  each_line(folder, [&](const nlohmann::json& line) {
    const bool is_span = line.contains("off_cpu"), is_wait = line.value("function", "") == "sem_wait";
    if (!is_span && (!is_wait || !line.at("args").at("waker").is_object())) return;
    const std::int64_t begin = line.at("begin_ns"), end = begin + line.at("duration_ns").get<std::int64_t>();
    if (is_span)
      told.spans[thread_of(line)].push_back({begin, end, line.at("off_cpu") == "preempted"});
    else
      told.waits[thread_of(line)].push_back(
          {begin, end - line.at("args").at("waker").at("wake_ns").get<std::int64_t>(), end});
  });
  return told;
}

std::map<Thread, std::vector<Span>> spans_of(const std::filesystem::path& folder) { return told_by(folder).spans; }

// Of waits in which the thread slept: begin, out, post, in, return, as far as they must follow each other.
Order order_of(const std::vector<Wait>& waits, const std::vector<Span>& spans) {
  Order order;
  for (const Wait& wait : waits) {
    auto span =
        std::partition_point(spans.begin(), spans.end(), [&](const Span& s) { return s.in_ns <= wait.begin_ns; });
    const Span* last = nullptr;
    bool begins_inside = true;
    for (; span != spans.end() && span->out_ns < wait.end_ns; ++span) {
      begins_inside = begins_inside && span->out_ns >= wait.begin_ns;
      if (!span->preempted) last = &*span;
    }
    if (last == nullptr) continue;  // it did not have to
    const bool kept = begins_inside && last->in_ns <= wait.end_ns && last->in_ns >= wait.post_ns;
    ++(kept ? order.kept : order.broken);
  }
  return order;
}

std::map<Thread, std::uint64_t> counted_by_kernel(const OneRun& one) {
  std::map<Thread, std::uint64_t> counts;
  for (const auto& line : one.truth())
    if (line.at(0) == "switches")
      counts[{std::stoll(line.at(1)), std::stoll(line.at(2))}] = std::stoull(line.at(3)) + std::stoull(line.at(4));
  return counts;
}

// Of the threads that wait for each other: how often they slept until their last wait.
std::uint64_t sleeps_counted_by_kernel(const OneRun& one) {
  std::uint64_t sleeps = 0;
  for (const auto& line : one.truth())
    if (line.at(0) == "sleeps") sleeps += std::stoull(line.at(1));
  return sleeps;
}

Victim switching(const char* rounds, const char* what = "", const char* mode = "trace") {
  std::vector<std::string> args = {rounds};
  if (*what != 0) args.emplace_back(what);
  return {.program = "switches",
          .args = args,
          .probe = {{"HOSTPROBE_MODE", mode},
                    {"HOSTPROBE_WAIT_US", "0"},
                    {"HOSTPROBE_BUDGET", "0"},
                    {"HOSTPROBE_BUFFER_MB", "256"}},
          .limit = std::chrono::seconds(100)};
}

constexpr uid_t kNobody = 65533, kPoor = 65431;

std::function<void()> become(uid_t user) {
  return [user] {
    if (chmod(".", 0777) != 0 || setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 ||
        setresuid(user, user, user) != 0)
      _exit(124);
  };
}

class Scheduler : public testing::Test {
 protected:
  Scheduler() { std::filesystem::permissions(scratch_.path(), std::filesystem::perms(0777)); }
  OneRun run(Victim victim) { return run_probed(victim, scratch_); }
  // Nothing recorded: why? "" = it was.
  std::string missing() {
    const nlohmann::json answers = report(scratch_.run());
    for (const auto& process : answers.at("processes"))
      for (const auto& event : process.at("events"))
        if (event.at("kind") == "source") return event.at("text").get<std::string>();
    return "";
  }
  nlohmann::json scheduler() { return report(scratch_.run()).at("processes").at(0).at("scheduler"); }
  ScratchFolder scratch_;
};

#define SKIP_WHERE_REFUSED() \
  if (const std::string why = missing(); !why.empty()) GTEST_SKIP() << why

class SchedulerOfUser : public Scheduler, public testing::WithParamInterface<uid_t> {};

TEST_P(SchedulerOfUser, SwitchesLieWhereWaitsAndPostsSayTheyMust) {
  if (GetParam() != 0 && geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  Victim victim = switching("150000");
  if (GetParam() != 0) victim.before_exec = become(GetParam());
  const OneRun one = run(victim);
  ASSERT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
  SKIP_WHERE_REFUSED();
  const Told told = told_by(scratch_.run());
  Order all;
  for (const auto& [thread, waits] : told.waits) {
    const auto own = told.spans.find(thread);
    if (own == told.spans.end()) continue;
    const Order order = order_of(waits, own->second);
    all.kept += order.kept;
    all.broken += order.broken;
  }
  RecordProperty("waits", std::to_string(all.kept + all.broken));
  RecordProperty("broken", std::to_string(all.broken));
  EXPECT_GT(all.kept, 1000u) << "the buffers alone hold more";
  EXPECT_LE(static_cast<double>(all.broken), 0.001 * static_cast<double>(all.kept)) << all.kept << " kept";
  // How many of the waits sleep is up to the kernel, and so is whether the writer gets a CPU before the buffers are full: what they
  // cannot hold is counted lost. One in a thousand is a sleep outside of the waits, as in a page fault.
  const std::uint64_t lost = scheduler().at("lost"), sleeps = sleeps_counted_by_kernel(one);
  EXPECT_GT(sleeps, 1000u);
  EXPECT_GE(static_cast<double>(all.kept + all.broken + lost), 0.999 * static_cast<double>(sleeps)) << lost << " lost";
}

TEST_P(SchedulerOfUser, EachSwitchThatTheKernelCountsIsThereOrCountedLost) {
  if (GetParam() != 0 && geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  Victim victim = switching("3000");  // no more than the buffers hold, however long the writer waits for a CPU
  if (GetParam() != 0) victim.before_exec = become(GetParam());
  const OneRun one = run(victim);
  ASSERT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
  SKIP_WHERE_REFUSED();
  const auto spans = spans_of(scratch_.run());
  std::uint64_t expected = 0;
  for (const auto& [thread, count] : counted_by_kernel(one)) {
    expected += count;
    if (const auto own = spans.find(thread); own != spans.end()) {
      EXPECT_LE(own->second.size(), count + 10);
    }
  }
  // Those of hostprobe's own thread besides, some fifty.
  const auto answer = scheduler();
  const std::uint64_t told = answer.at("switches").get<std::uint64_t>() + answer.at("lost").get<std::uint64_t>();
  EXPECT_GT(expected, 1000u);
  EXPECT_GE(static_cast<double>(told) + 10, 0.999 * static_cast<double>(expected));
}
INSTANTIATE_TEST_SUITE_P(Switches, SchedulerOfUser, testing::Values(0, kNobody),
                         [](const auto& each) { return each.param == 0 ? "root" : "nobody"; });

TEST_F(Scheduler, EachProcessHasItsOwnThreadsOnly) {
  const OneRun one = run(switching("2000", "forks"));
  ASSERT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
  SKIP_WHERE_REFUSED();
  const auto spans = spans_of(scratch_.run());
  std::set<long long> pids;
  for (const auto& [thread, count] : counted_by_kernel(one)) {
    pids.insert(thread.first);
    if (count > 100) {
      EXPECT_GT(spans.count(thread), 0u) << thread.first << " " << thread.second;
    }
  }
  EXPECT_EQ(pids.size(), 2u);
  for (const auto& [thread, own] : spans)
    for (const long long other : pids)
      if (other != thread.first) {
        EXPECT_EQ(spans.count({other, thread.second}), 0u);
      }
}

TEST_F(Scheduler, GoesOnInTheProgramThatIsExecuted) {
  const OneRun one = run(switching("2000", "execs"));
  ASSERT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
  SKIP_WHERE_REFUSED();
  const auto answers = report(scratch_.run());
  ASSERT_EQ(answers.at("processes").size(), 2u);
  for (const auto& process : answers.at("processes"))
    EXPECT_GT(process.at("scheduler").at("switches"), 1000) << process.at("pid");
}

class SchedulerByClosing : public Scheduler, public testing::WithParamInterface<const char*> {};

TEST_P(SchedulerByClosing, IsNotHarmedByAProgramThatClosesEveryDescriptor) {
  const OneRun one = run({.program = "closes_every_fd",
                          .args = {GetParam()},
                          .probe = {{"HOSTPROBE_MODE", "trace"}, {"HOSTPROBE_BUDGET", "0"}}});
  ASSERT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
  SKIP_WHERE_REFUSED();
  const auto spans = spans_of(scratch_.run());
  const auto own = spans.find({one.outcome.pid, one.outcome.pid});
  ASSERT_NE(own, spans.end());
  EXPECT_GT(own->second.size(), 2000u) << "it sleeps three thousand times behind that";
}
INSTANTIATE_TEST_SUITE_P(Switches, SchedulerByClosing, testing::Values("loop", "dup2"));

class SchedulerOff : public Scheduler, public testing::WithParamInterface<Environment> {};

TEST_P(SchedulerOff, RecordsNone) {
  Victim victim = switching("100");
  for (const auto& [name, value] : GetParam()) victim.probe[name] = value;
  const OneRun one = run(victim);
  ASSERT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
  EXPECT_EQ(missing(), "") << "what is not wanted is not missing";
  EXPECT_TRUE(scheduler().is_null());
}
INSTANTIATE_TEST_SUITE_P(Switches, SchedulerOff,
                         testing::Values(Environment{{"HOSTPROBE_SCHED", "off"}},
                                         Environment{{"HOSTPROBE_MODE", "monitor"}}));

TEST_F(Scheduler, InModeFlightTheNewestAreThereAtTheEnd) {
  const OneRun one = run(switching("5000", "", "flight"));
  ASSERT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
  SKIP_WHERE_REFUSED();
  const auto answer = scheduler();
  EXPECT_GT(answer.at("switches"), 100);
  EXPECT_EQ(answer.at("lost"), 0);
  EXPECT_GT(answer.at("covered_pct"), 0.0);
}

class SchedulerOfMany : public Scheduler, public testing::WithParamInterface<std::pair<const char*, const char*>> {};

// Two threads that hand a semaphore to and fro, or yield, as often as they can beside one that computes: they are counted, and left out.
TEST_P(SchedulerOfMany, LeavesThreadsOutThatSwitchTooOftenAndSaysSo) {
  const auto [mode, what] = GetParam();
  Victim victim = switching(*what == 0 ? "100000" : "2000000", what, mode);
  victim.probe["HOSTPROBE_BUDGET"] = "0.5";
  const OneRun one = run(victim);
  ASSERT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
  SKIP_WHERE_REFUSED();
  std::uint64_t counted = 0;
  for (const auto& [thread, count] : counted_by_kernel(one)) counted += count;
  if (counted < 100000) GTEST_SKIP() << "they hardly switch here: " << counted;
  const auto answers = report(scratch_.run());
  const auto& process = answers.at("processes").at(0);
  const auto& scheduler = process.at("scheduler");
  EXPECT_GE(scheduler.at("threads_left_out"), 2);
  // What is left out is not lost. Some are before the writer gets a CPU.
  const auto told_of = scheduler.at("switches").get<std::uint64_t>() + scheduler.at("lost").get<std::uint64_t>();
  EXPECT_LT(told_of, counted / 2);
  int told = 0, by_counts = 0;
  for (const auto& event : process.at("events")) told += event.at("kind") == "detail";
  for (const auto& thread : process.at("threads")) by_counts += thread.at("times_from") == "totals";
  EXPECT_GE(told, 1);
  EXPECT_GE(by_counts, 2) << process.at("threads");
}
INSTANTIATE_TEST_SUITE_P(Switches, SchedulerOfMany,
                         testing::Values(std::pair("trace", ""), std::pair("flight", ""), std::pair("trace", "yields"),
                                         std::pair("flight", "yields")),
                         [](const auto& each) {
                           return std::string(each.param.first) + (*each.param.second == 0 ? "Semaphores" : "Yields");
                         });

TEST_F(Scheduler, WithoutABudgetNoThreadIsLeftOut) {
  const OneRun one = run(switching("200000", "yields"));
  ASSERT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
  SKIP_WHERE_REFUSED();
  EXPECT_EQ(scheduler().at("threads_left_out"), 0);
}

// A container profile may forbid it, or end who asks: nobody can tell beforehand, so nobody asks.
TEST_F(Scheduler, IsNotAskedForUnderAFilterOfSystemCalls) {
  Victim victim = switching("300");
  victim.before_exec = [] {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
      _exit(124);
  };
  const Pair pair(victim);
  expect_same(pair);
  const auto answers = report(pair.run());
  int told = 0;
  for (const auto& event : answers.at("processes").at(0).at("events")) {
    const auto text = event.at("text").get<std::string>();
    if (event.at("kind") != "source" || !text.starts_with("context switches")) continue;
    ++told;
    EXPECT_NE(text.find("seccomp"), std::string::npos) << event;
    EXPECT_EQ(event.at("errno"), EPERM);
  }
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(answers.at("processes").at(0).at("scheduler").is_null());
  EXPECT_GE(blocked_count(answers, "usleep"), 150u);
}

// Takes what the user may lock, until it is killed. -1: it got nothing.
pid_t lock_all_memory_of(uid_t user) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t holder = fork();
  if (holder == 0) {
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_MEMLOCK, &none);
    become(user)();
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.exclude_kernel = 1;
    char held = 0;
    for (std::size_t pages = 256; pages >= 1; pages /= 2)
      for (int i = 0; i < 1000; ++i) {
        const int fd = static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
        if (fd < 0 || mmap(nullptr, (pages + 1) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED) break;
        held = 1;
      }
    if (write(ready[1], &held, 1) == 1) pause();
    _exit(0);
  }
  char held = 0;
  const bool told = read(ready[0], &held, 1) == 1 && held != 0;
  close(ready[0]);
  close(ready[1]);
  if (told) return holder;
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  return -1;
}

TEST_F(Scheduler, WithoutLockableMemoryIsOneEventAndNothingElse) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become a user that has locked all it may";
  const pid_t holder = lock_all_memory_of(kPoor);
  if (holder < 0) GTEST_SKIP() << "this machine lets that user lock nothing, or open no events";
  Victim victim = switching("300");
  victim.before_exec = [] {
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_MEMLOCK, &none);
    become(kPoor)();
  };
  const OneRun one = run(victim);
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  EXPECT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
  EXPECT_NE(missing().find("ulimit -l"), std::string::npos) << missing() << scheduler();
  EXPECT_TRUE(scheduler().is_null());
}

}  // namespace
}  // namespace hostprobe::test
