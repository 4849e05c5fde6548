// `hostprobe sched` as root, beside the probe: the order of waits and switches, and what is left behind when somebody is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dirent.h>
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "recorder/sched_options.h"
#include "support/trace_file.h"
#include "trace/kernel_rows.h"
#include "trace/reader.h"
#include "unit/cli_command.h"

#include "background.h"

namespace hostprobe::test {
namespace {

using analysis::Trace;
using testing::HasSubstr;

constexpr char kTracing[] = "/sys/kernel/tracing";

// A mount namespace of the test's own, where tracefs is mounted: what is left behind can be seen in it.
std::string reach() {
  static const std::string why = []() -> std::string {
    if (geteuid() != 0) return "needs root";
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return "no mount namespace of its own is allowed";
    if (access((std::string(kTracing) + "/instances").c_str(), W_OK) != 0 &&
        mount("nodev", kTracing, "tracefs", 0, nullptr) != 0)
      return "tracefs may not be mounted here";
    const std::string folder =
        (std::filesystem::temp_directory_path() / fmt::format("hostprobe-try-{}", getpid())).string();
    const Said tried = hostprobe({"sched", "-o", folder, "--all", "--for", "0.05"});
    std::filesystem::remove_all(folder);
    return tried.status == 0 ? "" : tried.err;
  }();
  return why;
}

// Those of a process and what it started.
std::vector<std::string> instances(int pid) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(kTracing) + "/instances"))
    if (entry.path().filename().string().starts_with(fmt::format("hostprobe-{}-", pid)))
      names.push_back(entry.path().filename());
  return names;
}

class Sched : public testing::Test {
 protected:
  void SetUp() override {
    if (!reach().empty()) GTEST_SKIP() << reach();
  }
  std::string run() const { return folder_.file("run"); }
  std::vector<Trace> traces(bool of_kernel) const {
    std::vector<Trace> all;
    for (const std::string& path : analysis::trace_paths(run())) {
      Trace trace = analysis::read_trace(path);
      if (analysis::is_kernel_trace(trace) == of_kernel) all.push_back(std::move(trace));
    }
    return all;
  }
  TestFolder folder_;
};

void wait_until_gone(int pid) {
  while (!instances(pid).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

struct OfThread {
  std::vector<std::uint64_t> out, in;  // ticks
};

std::map<std::uint32_t, OfThread> switches_of(const Trace& trace) {
  std::map<std::uint32_t, OfThread> all;
  analysis::KernelWalk walk(trace);
  for (analysis::KernelStep step; walk.next(step);) {
    if (step.row.what != kKernelSwitch) continue;
    all[step.row.tid].out.push_back(step.row.ticks);
    all[step.row.other].in.push_back(step.row.ticks);
  }
  return all;
}

struct Order {
  std::uint64_t waits = 0, wrong = 0;
};

// Of each wait with a waker that has switches inside: begin <= out, and post <= the switch in <= return.
Order order_of(const Trace& probed, const std::map<std::uint32_t, OfThread>& switches) {
  Order order;
  for (const auto& [key, thread] : probed.threads) {
    const auto own = switches.find(key.tid);
    if (own == switches.end()) continue;
    for (const analysis::Slice& slice : thread.slices)
      for (const Record& record : slice.records()) {
        const analysis::Hook* hook = probed.hook_of(record);
        const int waker = hook == nullptr ? -1 : hook->word_of("waker");
        if (waker < 0 || analysis::word(record, waker) == 0) continue;
        const std::uint64_t post = post_ticks(analysis::word(record, waker), record.end_ticks);
        const auto& in = own->second.in;
        auto last = std::upper_bound(in.begin(), in.end(), record.end_ticks);
        if (last == in.begin() || *(--last) < record.begin_ticks) continue;  // it did not sleep
        const auto& out = own->second.out;
        const auto first = std::lower_bound(out.begin(), out.end(), record.begin_ticks);
        ++order.waits;
        const bool right = first != out.end() && *first <= *last && post >= record.begin_ticks && post <= *last;
        order.wrong += right ? 0 : 1;
      }
  }
  return order;
}

TEST_F(Sched, WaitsAndSwitchesAreOnOneClock) {
  const Said said = hostprobe({"sched", "-o", run(), "--", HOSTPROBE_TEST_COMMAND, "run", "-o", run(), "--mode",
                               "trace", "--target", "all", "--", HOSTPROBE_TEST_PROGRAMS "/waits_ping_pong"},
                              {"HOSTPROBE_BUFFER_MB=256", "HOSTPROBE_WAIT_US=0"});
  ASSERT_EQ(said.status, 0) << said.err;
  const std::vector<Trace> kernel = traces(true), probed = traces(false);
  ASSERT_EQ(kernel.size(), 1u);
  const auto switches = switches_of(kernel[0]);
  Order order;
  for (const Trace& trace : probed) {
    const Order one = order_of(trace, switches);
    order.waits += one.waits;
    order.wrong += one.wrong;
  }
  RecordProperty("waits", std::to_string(order.waits));
  RecordProperty("wrong", std::to_string(order.wrong));
  fprintf(stderr, "%lu waits, %lu in another order\n", order.waits, order.wrong);
  EXPECT_GT(order.waits, 1000u);
  // A preempted waker's post may be stamped a little late; that is rare.
  EXPECT_LE(order.wrong, order.waits / 1000);
}

TEST_F(Sched, WhoHadTheCpuIsInTheReport) {
  const Said said =
      hostprobe({"sched", "-o", run(), "--", "taskset", "-c", "0", "sh", "-c",
                 fmt::format("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done & {} run -o {} --target all -- "
                             "{}/waits_ping_pong; wait",
                             HOSTPROBE_TEST_COMMAND, run(), HOSTPROBE_TEST_PROGRAMS)});
  ASSERT_EQ(said.status, 0) << said.err;
  const auto json = nlohmann::json::parse(hostprobe({"report", run(), "--json"}).out);
  ASSERT_FALSE(json["processes"].empty());
  bool found = false;
  for (const auto& process : json["processes"])
    for (const auto& neighbour : process.value("neighbours", nlohmann::json::array()))
      found = found || (neighbour["comm"] == "sh" && neighbour["took_ms"] > 0);
  EXPECT_TRUE(found) << json["neighbours"].dump();
  EXPECT_THAT(hostprobe({"report", run(), "machine"}).out, HasSubstr("Who had the CPU"));
  EXPECT_THAT(hostprobe({"dump", run(), "--json"}).out, HasSubstr("\"function\":\"sched_switch\""));
}

// `cat` waits for a shell, which the probe does not know; `sleep` for nobody.
TEST_F(Sched, WaitsThatTheProbeKnowsNoWakerOfHaveTheKernels) {
  const std::string probed = fmt::format("{} run -o {} --target all --mode trace -- ", HOSTPROBE_TEST_COMMAND, run());
  const std::string script =
      fmt::format("i=0; while [ $i -lt 30 ]; do sleep 0.01; echo x; i=$((i+1)); done | {}cat > {}; {}sleep 0.2", probed,
                  folder_.file("out"), probed);
  const Said said = hostprobe({"sched", "-o", run(), "--", "sh", "-c", script});
  ASSERT_EQ(said.status, 0) << said.err;
  std::uint64_t by_shell = 0, by_interrupt = 0, by_others = 0;
  for (const char* job : {"1", "2"}) {  // each `run` is one
    const auto json = nlohmann::json::parse(hostprobe({"report", run(), "--json", "--job", job}).out);
    for (const auto& process : json["processes"])
      for (const auto& wait : process["waits"])
        for (const auto& waker : wait["wake"].value("kernel_wakers", nlohmann::json::array())) {
          const std::uint64_t count = waker["count"];
          (waker.contains("interrupt") ? by_interrupt : waker["comm"] == "sh" ? by_shell : by_others) += count;
        }
  }
  fprintf(stderr, "%lu by the shell, %lu by interrupts, %lu by others\n", by_shell, by_interrupt, by_others);
  EXPECT_GE(by_shell, 10u);
  EXPECT_GE(by_interrupt, 1u);
}

TEST_F(Sched, TheProgramsStatusIsPassedOn) {
  EXPECT_EQ(hostprobe({"sched", "-o", run(), "--", "sh", "-c", "exit 7"}).status, 7);
  EXPECT_EQ(hostprobe({"sched", "-o", run(), "--", "sh", "-c", "kill -9 $$"}).status, 128 + SIGKILL);
  EXPECT_EQ(hostprobe({"sched", "-o", run(), "--", "/no/such/program"}).status, 127);
}

TEST_F(Sched, KilledRecorderLeavesNoInstanceAndWhatItHadWritten) {
  Living living(run());
  const int recorder = living.recorder();
  ASSERT_GT(recorder, 0);
  EXPECT_FALSE(instances(recorder).empty());
  kill(recorder, SIGKILL);
  EXPECT_TRUE(WIFEXITED(living.end()));
  EXPECT_EQ(WEXITSTATUS(living.end()), 1);
  EXPECT_TRUE(instances(recorder).empty());
  ASSERT_EQ(traces(true).size(), 1u);
  EXPECT_GT(analysis::kernel_parts(traces(true)[0]).size(), 0u);
}

TEST_F(Sched, RecorderWhoseParentIsKilledCleansUp) {
  Living living(run());
  const int recorder = living.recorder();
  ASSERT_GT(recorder, 0);
  kill(living.pid(), SIGKILL);
  living.end();
  wait_until_gone(recorder);
}

// The id of a recorder that died together with its parent.
int leave_instances(const std::string& run) {
  int recorder = 0;
  {
    Living living(run);
    recorder = living.recorder();
    if (recorder <= 0) return 0;
    kill(recorder, SIGSTOP);  // so that it cannot see its parent die
    kill(living.pid(), SIGKILL);
    kill(recorder, SIGKILL);
    living.end();
  }
  const auto has_died = [recorder] {
    std::ifstream file(fmt::format("/proc/{}/stat", recorder));
    std::string text;
    std::getline(file, text);
    const std::size_t end = text.rfind(')');
    return end == std::string::npos || text.substr(end, 3) == ") Z";
  };
  while (!has_died()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return recorder;
}

TEST_F(Sched, NextStartRemovesWhatTheDeadHaveLeft) {
  const int recorder = leave_instances(run());
  ASSERT_GT(recorder, 0);
  const Said said = hostprobe({"sched", "-o", run(), "--all", "--for", "0.05"});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_TRUE(instances(recorder).empty());
}

TEST_F(Sched, DoctorRemovesThemTooAndLeavesTheLiving) {
  Living living(run());
  const int recorder = leave_instances(folder_.file("other"));
  ASSERT_GT(recorder, 0);
  ASSERT_FALSE(instances(recorder).empty());
  const Said said = hostprobe({"doctor", "--json"});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_GT(nlohmann::json::parse(said.out).at("swept"), 0) << said.out;
  EXPECT_TRUE(instances(recorder).empty());
  EXPECT_FALSE(instances(living.recorder()).empty());
}

TEST_F(Sched, TwoAtOnceDoNotDisturbEachOther) {
  Living first(run()), second(folder_.file("other"));
  for (Living* one : {&first, &second}) kill(one->pid(), SIGTERM);
  for (Living* one : {&first, &second}) {
    EXPECT_TRUE(WIFEXITED(one->end()));
    EXPECT_EQ(WEXITSTATUS(one->end()), 0);
  }
  EXPECT_EQ(traces(true).size(), 1u);
}

TEST_F(Sched, PausesWhileTheProcessDoes) {
  std::filesystem::create_directories(run());
  Command program({"run", "-o", run(), "--mode", "trace", "--target", "all", "--", HOSTPROBE_TEST_PROGRAMS "/stays"});
  const std::string pid = answering_process(run());
  Command recording({"sched", "-o", run(), "--run"});
  while (first_child_of(recording.pid()) == 0 || instances(first_child_of(recording.pid())).empty()) nap();
  for (const char* verb : {"stop", "start", "status"}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_EQ(hostprobe({"ctl", pid, verb}).status, 0);
  }
  kill(std::stoi(pid), SIGTERM);
  recording.end();
  program.end();
  const std::vector<Trace> kernel = traces(true);
  ASSERT_EQ(kernel.size(), 1u);
  const std::vector<EventRow>& events = kernel[0].events;
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, kEventStopped);
  EXPECT_EQ(events[1].kind, kEventStarted);
  std::array<std::uint64_t, 3> rows{};
  analysis::KernelWalk walk(kernel[0]);
  for (analysis::KernelStep step; walk.next(step);)
    ++rows[(step.row.ticks > events[0].ticks) + (step.row.ticks > events[1].ticks)];
  EXPECT_GT(rows[0], 0u);
  EXPECT_EQ(rows[1], 0u);
  EXPECT_GT(rows[2], 0u);
}

TEST_F(Sched, ProcessThatEndsEndsItsRecording) {
  const pid_t child = fork();
  if (child == 0) {
    sleep(1);
    _exit(0);
  }
  std::thread reaper([child] { waitpid(child, nullptr, 0); });
  const Said said = hostprobe({"sched", "-o", run(), "--pid", std::to_string(child)});
  reaper.join();
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_EQ(traces(true).size(), 1u);
  EXPECT_EQ(hostprobe({"sched", "-o", run(), "--pid", std::to_string(child)}).status, 1);
}

// These need no root.
TEST(SchedUsage, NonsenseIsAUsageError) {
  TestFolder folder;
  const std::vector<std::vector<std::string>> kMistakes = {{"--all", "--cpus", "99999"},
                                                           {"--all", "--cpus", "x"},
                                                           {"--all", "--cpus", "1-0"},
                                                           {"--all", "--cpus", "0,,1"},
                                                           {"--all", "--events", "foo"},
                                                           {"--all", "--pid", "1"},
                                                           {},
                                                           {"--all", "--for", "-1"},
                                                           {"--pid", "0"},
                                                           {"--all", "--cpus", "-1-2"}};
  for (std::vector<std::string> words : kMistakes) {
    words.insert(words.begin(), {"sched", "-o", folder.file("run")});
    const Said said = hostprobe(words);
    EXPECT_EQ(said.status, 2) << testing::PrintToString(words) << said.err;
    EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), 1) << said.err;
  }
}

TEST(SchedUsage, WithoutRootItSaysSoAndExitsOne) {
  TestFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(99);
    const Said said = hostprobe({"sched", "-o", folder.file("run"), "--all", "--for", "0.05"});
    const bool one_line = std::count(said.err.begin(), said.err.end(), '\n') == 1;
    _exit(said.status == 1 && one_line && !said.err.empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(SchedLists, CpusAndEventsAreReadOrRefused) {
  EXPECT_EQ(kernel::parse_cpus("0-2,5,1", 8), (std::vector<int>{0, 1, 2, 5}));
  EXPECT_TRUE(kernel::parse_cpus("", 8).empty());
  for (const char* list : {"8", "a", "1-", "-1", "2-1", ",", "0 1", "1e1"})
    EXPECT_THROW(kernel::parse_cpus(list, 8), std::invalid_argument) << list;
  EXPECT_EQ(kernel::parse_events("softirq").size(), 2u);
  EXPECT_EQ(kernel::parse_events("sched_switch,sched:sched_waking").size(), 2u);
  EXPECT_EQ(kernel::parse_events("").size(), 11u);
  for (const char* list : {"foo", "sched_switch,bar", ",", "irq:sched_switch"})
    EXPECT_THROW(kernel::parse_events(list), std::invalid_argument) << list;
}

}  // namespace
}  // namespace hostprobe::test
