// `hostprobe sched --source bpf` as root: totals held to what the kernel itself counts, and to what became of a neighbour that was
// planted; and what is left behind when somebody is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <thread>

#include "recorder/bpf_problem.h"
#include "support/trace_file.h"
#include "trace/kernel_rows.h"
#include "trace/kernel_totals.h"
#include "trace/reader.h"
#include "unit/cli_command.h"

#include "background.h"

namespace hostprobe::test {
namespace {

using analysis::Trace;
using testing::HasSubstr;

// Ids of the programs in the kernel that a process has open.
std::set<std::string> programs_of(int pid) {
  std::set<std::string> ids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fdinfo", pid), error)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("prog_id:")) ids.insert(line.substr(line.find_last_of(" \t") + 1));
  }
  return ids;
}

struct Totals {
  KernelThreadTotals totals{};  // of all threads
  std::uint64_t lost = 0, cost_ns = 0;
  std::set<std::uint32_t> threads;
};

class Bpf : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    if (const std::string problem = kernel::bpf_problem(); !problem.empty()) GTEST_SKIP() << problem;
    const Said tried =
        hostprobe({"sched", "-o", folder_.file("try"), "--source", "bpf", "--", "true"});  // not in a container
    if (tried.status != 0) GTEST_SKIP() << tried.err;
  }
  std::string run() const { return folder_.file("run"); }
  // The one trace of the kernel.
  Trace trace() const {
    for (const std::string& path : analysis::trace_paths(run())) {
      Trace trace = analysis::read_trace(path);
      if (analysis::is_kernel_trace(trace)) return trace;
    }
    throw std::runtime_error("there is no trace of the kernel");
  }
  // Until it has read its clock twice a trace tells no time, and one that is killed before has nothing to tell.
  void wait_until_told() const {
    for (;; nap())
      for (const auto& entry : std::filesystem::directory_iterator(run())) try {
          if (!analysis::kernel_totals(analysis::read_trace(entry.path().string())).empty()) return;
        } catch (const analysis::TraceError&) {
        }
  }
  Totals totals() const {
    Totals all;
    const Trace read = trace();
    for (const analysis::KernelTotalsPart& part : analysis::kernel_totals(read)) {
      all.lost += part.head.lost;
      all.cost_ns += part.head.cost_ns;
      for (std::uint32_t i = 0; i < part.head.threads; ++i) {
        const KernelThreadTotals one = part.thread(i);
        all.threads.insert(one.tid);
        all.totals.switches += one.switches;
        all.totals.woken_ns += one.woken_ns;
        all.totals.preempted_ns += one.preempted_ns;
        all.totals.own_ns += one.own_ns;
        all.totals.unknown_ns += one.unknown_ns;
      }
    }
    return all;
  }
  TestFolder folder_;
};

std::uint64_t switches_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
}

// A shell, its children and a program with two threads.
TEST_F(Bpf, SwitchesAreThoseThatTheKernelCounted) {
  const std::uint64_t before = switches_of_children();
  const Said said = hostprobe(
      {"sched", "-o", run(), "--source", "bpf", "--", "sh", "-c",
       fmt::format("{}/waits_ping_pong; for i in 1 2 3 4 5 6 7 8; do sleep 0.01; done", HOSTPROBE_TEST_PROGRAMS)});
  const std::uint64_t counted = switches_of_children() - before;
  ASSERT_EQ(said.status, 0) << said.err;
  const Totals all = totals();
  // It counts one more or less now and then.
  EXPECT_LE(all.lost, 5u) << said.err;
  EXPECT_GT(all.totals.switches, 1000u);
  // Which has those of the command too, and of a thread that ends by itself not the last one.
  EXPECT_LE(all.totals.switches, counted + all.threads.size());
  EXPECT_GE(all.threads.size(), 8u);
}

// The wait of a thread is shared out among whoever had its CPU, its own process and those of whom nobody knows.
TEST_F(Bpf, SpinnerOnTheSameCpuTookWhatWasWaitedFor) {
  const Said said = hostprobe(
      {"sched", "-o", run(), "--source", "bpf", "--", "taskset", "-c", "0", "sh", "-c",
       fmt::format(
           "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done & {} run -o {} --target all -- {}/waits_ping_pong; wait",
           HOSTPROBE_TEST_COMMAND, run(), HOSTPROBE_TEST_PROGRAMS)});
  ASSERT_EQ(said.status, 0) << said.err;
  const auto json = nlohmann::json::parse(hostprobe({"report", run(), "--json"}).out);
  ASSERT_FALSE(json["processes"].empty());
  const auto& process = json["processes"][0];
  const auto& kernel = process.at("kernel");
  double took = 0;
  bool found = false;
  for (const auto& neighbour : process.at("neighbours")) {
    took += neighbour["took_ms"].get<double>();
    found = found || (neighbour["comm"] == "sh" && neighbour["took_ms"] > 0);
  }
  EXPECT_TRUE(found) << process.at("neighbours").dump();
  // What is missing: the CPU had nothing to do, between a wake and a switch.
  const double waited = kernel["waited_ms"], own = kernel["own_took_ms"], unknown = kernel["unknown_ms"];
  EXPECT_LE(took + own + unknown, waited * 1.001);
  EXPECT_GE(took + own + unknown, waited * 0.5);
  EXPECT_GT(kernel["switches"], 0);
  const std::string text = hostprobe({"report", run(), "machine"}).out;
  EXPECT_THAT(text, HasSubstr("Who had the CPU"));
  EXPECT_THAT(text, HasSubstr("kernel added this up itself"));
  EXPECT_TRUE(hostprobe({"dump", run(), "--json"}).out.find("\"function\":\"kernel_totals\"") != std::string::npos);
}

std::uint64_t run_queue_ns(int pid) {
  std::ifstream file(fmt::format("/proc/{}/schedstat", pid));
  std::uint64_t on_cpu = 0, waited = 0;
  file >> on_cpu >> waited;
  return waited;
}

// A spinner beside another one, recorded from the outside; held to the kernel's own account of how long it waited.
TEST_F(Bpf, WaitsAreThoseOfTheKernelsOwnAccount) {
  pid_t spinners[2];
  for (pid_t& pid : spinners) {
    pid = fork();
    if (pid != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof(one), &one);
    for (;;) asm volatile("");
  }
  const std::uint64_t before = run_queue_ns(spinners[0]);
  const Said said =
      hostprobe({"sched", "-o", run(), "--source", "bpf", "--pid", std::to_string(spinners[0]), "--for", "1.5"});
  const std::uint64_t waited = run_queue_ns(spinners[0]) - before;
  for (const pid_t pid : spinners) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  ASSERT_EQ(said.status, 0) << said.err;
  const Totals all = totals();
  EXPECT_EQ(all.threads, std::set<std::uint32_t>{static_cast<std::uint32_t>(spinners[0])});
  EXPECT_EQ(all.totals.own_ns, 0u);
  EXPECT_GT(all.totals.preempted_ns, 0u);
  EXPECT_LE(all.totals.woken_ns + all.totals.preempted_ns, waited);  // which began before it and ended behind it
  const Trace read = trace();
  const analysis::KernelNames names(read);
  std::uint64_t took = 0, others = 0;
  for (const analysis::KernelTotalsPart& part : analysis::kernel_totals(read))
    for (std::uint32_t i = 0; i < part.head.took; ++i)
      (part.took(i).process == static_cast<std::uint32_t>(spinners[1]) ? took : others) += part.took(i).ns;
  EXPECT_GT(took, 0u);
  EXPECT_LE(took + others + all.totals.unknown_ns, all.totals.woken_ns + all.totals.preempted_ns);
  EXPECT_FALSE(names.task(static_cast<std::uint32_t>(spinners[1]), UINT64_MAX).name.empty());
}

// Whether the kernel still has a program.
bool is_loaded(const std::string& id) {
  bpf_attr ask{};
  ask.prog_id = static_cast<__u32>(std::stoul(id));
  const long program = syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &ask, sizeof(ask));
  if (program >= 0) close(static_cast<int>(program));
  return program >= 0;
}

TEST_F(Bpf, KilledRecorderLeavesNoProgramAndWhatItHadWritten) {
  Living recording(run(), "bpf");
  ASSERT_GT(recording.recorder(), 0);
  const std::set<std::string> ids = programs_of(recording.recorder());
  ASSERT_FALSE(ids.empty());
  for (const std::string& id : ids) EXPECT_TRUE(is_loaded(id)) << id;
  wait_until_told();
  kill(recording.recorder(), SIGKILL);
  EXPECT_EQ(WEXITSTATUS(recording.end()), 1);
  // The kernel removes them a little later than the process.
  for (const std::string& id : ids)
    while (is_loaded(id)) nap();
  EXPECT_GT(totals().totals.switches, 0u);
}

TEST_F(Bpf, RecorderWhoseParentIsKilledEnds) {
  Living recording(run(), "bpf");
  ASSERT_GT(recording.recorder(), 0);
  const std::set<std::string> ids = programs_of(recording.recorder());
  wait_until_told();
  kill(recording.pid(), SIGKILL);
  recording.end();
  for (const std::string& id : ids)
    while (is_loaded(id)) nap();
  EXPECT_GT(totals().totals.switches, 0u);
}

TEST_F(Bpf, PausesWhileTheProcessDoes) {
  std::filesystem::create_directories(run());
  Command program({"run", "-o", run(), "--mode", "trace", "--target", "all", "--", HOSTPROBE_TEST_PROGRAMS "/stays"});
  const std::string pid = answering_process(run());
  Command recording({"sched", "-o", run(), "--source", "bpf", "--run"});
  while (first_child_of(recording.pid()) == 0 || programs_of(first_child_of(recording.pid())).empty()) nap();
  for (const char* verb : {"stop", "start", "status"}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_EQ(hostprobe({"ctl", pid, verb}).status, 0);
  }
  kill(std::stoi(pid), SIGTERM);
  recording.end();
  program.end();
  const Trace read = trace();
  ASSERT_EQ(read.events.size(), 2u);
  EXPECT_EQ(read.events[0].kind, kEventStopped);
  EXPECT_EQ(read.events[1].kind, kEventStarted);
  const Totals all = totals();
  EXPECT_GT(all.totals.switches, 0u);
  EXPECT_EQ(all.lost, 0u);
}

TEST_F(Bpf, ThreadsThatEndMakePlaceForOthers) {
  const char* program = R"(
import threading
for i in range(12000):
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
)";
  const Said said = hostprobe({"sched", "-o", run(), "--source", "bpf", "--", "/usr/bin/python3", "-c", program});
  ASSERT_EQ(said.status, 0) << said.err;
  const Totals all = totals();
  // There is place for 8192. A recorder that gets no CPU may be late to free some: then those are counted that found none.
  EXPECT_GT(all.threads.size(), 8192u) << said.err;
  EXPECT_GE(all.threads.size() + all.lost, 12000u) << said.err;
}

TEST_F(Bpf, WhatItCostIsSaidAndInTheReport) {
  const Said said = hostprobe({"sched", "-o", run(), "--source", "bpf", "--", HOSTPROBE_TEST_COMMAND, "run", "-o",
                               run(), "--target", "all", "--", HOSTPROBE_TEST_PROGRAMS "/waits_ping_pong"});
  ASSERT_EQ(said.status, 0) << said.err;
  EXPECT_GT(totals().cost_ns, 0u);
  EXPECT_THAT(said.err, HasSubstr("ms of CPU time"));
  const auto json = nlohmann::json::parse(hostprobe({"report", run(), "--json"}).out);
  EXPECT_EQ(json["kernel"][0]["form"], "totals");
  EXPECT_GT(json["kernel"][0]["cost_ms"], 0.0);
  EXPECT_GT(json["kernel"][0]["events"], 0);
}

TEST_F(Bpf, TheProgramsStatusIsPassedOn) {
  EXPECT_EQ(hostprobe({"sched", "-o", run(), "--source", "bpf", "--", "sh", "-c", "exit 7"}).status, 7);
  EXPECT_EQ(hostprobe({"sched", "-o", run(), "--source", "bpf", "--", "/no/such/program"}).status, 127);
}

// These need no root.
TEST(BpfUsage, EventsCannotBeChosenWhereThereAreNone) {
  TestFolder folder;
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--cpus", "0"}, {"--events", "irq"}, {"--source", "ebpf"}}) {
    std::vector<std::string> words = {"sched", "-o", folder.file("run"), "--all", "--source", "bpf"};
    words.insert(words.end(), more.begin(), more.end());
    const Said said = hostprobe(words);
    EXPECT_EQ(said.status, 2) << said.err;
    EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), 1) << said.err;
  }
}

TEST(BpfUsage, WithoutRootItSaysWhyAndExitsOne) {
  TestFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(99);
    const Said said = hostprobe({"sched", "-o", folder.file("run"), "--source", "bpf", "--all", "--for", "0.05"});
    const bool one_line = std::count(said.err.begin(), said.err.end(), '\n') == 1;
    const bool says_why = said.err.find("bpf") != std::string::npos || said.err.find("BPF") != std::string::npos;
    _exit(said.status == 1 && one_line && says_why ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hostprobe::test
