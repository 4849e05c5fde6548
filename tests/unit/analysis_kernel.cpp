// Traces of the kernel: every form of its text with its traps, files of it, their clocks, and what is asked of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fstream>

#include "analysis/ranks/neighbours.h"
#include "export/dump/dump.h"
#include "import/ftrace/kernel_event.h"
#include "import/ftrace/kernel_line.h"
#include "import/import_files.h"
#include "model/kernel_file.h"
#include "support/trace_file.h"
#include "trace/kernel_rows.h"
#include "trace/reader.h"
#include "trace/trace_writer.h"

namespace hostprobe::analysis {
namespace {

using test::TestFolder;
using testing::HasSubstr;

KernelLine line_of(const char* text) {
  const auto line = parse_kernel_line(text);
  EXPECT_TRUE(line) << text;
  return line.value_or(KernelLine{});
}

TEST(KernelLine, AnchorsOnTheCpuWhateverTheNameHolds) {
  struct Case {
    const char* text;
    const char* comm;
    unsigned tid, cpu;
    std::uint64_t time;
  };
  const Case kCases[] = {
      {"            bash-1234    [001] d..2. 12345.678901: sched_switch: x", "bash", 1234, 1, 12345678901000},
      {"  tokio-runtime w-77  [010] 12345.678901234: sched_waking: x", "tokio-runtime w", 77, 10, 12345678901234},
      {" a [001] b-77  [000] d... 1.500000: sched_waking: x", "a [001] b", 77, 0, 1500000000},
      {"        <idle>-0       [000] dNh4.. 1.000001: irq_handler_entry: irq=1", "<idle>", 0, 0, 1000001000},
      {"           x-y-9 (   10) [000] .... 1.000001: sched_waking: x", "x-y", 9, 0, 1000001000},
      {"           x-y-9 (-------) [000] ..... 1.000001: sched_waking: x", "x-y", 9, 0, 1000001000},
      {"       train-5  [003]6017587512804: sched_waking: x", "train", 5, 3, 6017587512804},
      {"       train-5  [003] d..2. 6017587512804: sched_waking: x", "train", 5, 3, 6017587512804},
      {"stress-ng-cpu  4711 [002]  9.000000001: sched:sched_waking: x", "stress-ng-cpu", 4711, 2, 9000000001},
      {"bar:          cc1plus-4994  [000] 29415.520377: sched_switch: x", "cc1plus", 4994, 0, 29415520377000},
      {"my prog 12/13 [002]  9.000000: irq:softirq_entry: vec=1", "my prog", 13, 2, 9000000000},
  };
  for (const Case& one : kCases) {
    const KernelLine line = line_of(one.text);
    EXPECT_EQ(line.comm, one.comm) << one.text;
    EXPECT_EQ(line.tid, one.tid) << one.text;
    EXPECT_EQ(line.cpu, one.cpu) << one.text;
    EXPECT_EQ(line.time, one.time) << one.text;
  }
}

TEST(KernelLine, TellsClocksOfSecondsFromCountersOfTicksAndRelativeTimes) {
  EXPECT_EQ(line_of("a-1 [000] d... 1.5: x: y").time_form, LineTime::kSeconds);
  EXPECT_EQ(line_of("a-1 [000] d... 15: x: y").time_form, LineTime::kTicks);
  const KernelLine latency = line_of("    bash-1234    1d..2.   15us+: sched_switch: prev_comm=bash");
  EXPECT_EQ(latency.time_form, LineTime::kRelative);
  EXPECT_EQ(latency.cpu, 1u);
  EXPECT_EQ(latency.tid, 1234u);
  EXPECT_EQ(latency.time, 15'000u);
  EXPECT_EQ(latency.event, "sched_switch");
}

TEST(KernelLine, ProcessIdsAreReadWhereTheyStand) {
  EXPECT_EQ(line_of("a-9 (   10) [000] d... 1.5: x: y").tgid, 10u);
  EXPECT_EQ(line_of("a-9 (-------) [000] d... 1.5: x: y").tgid, 0u);
  EXPECT_EQ(line_of("a 12/13 [000] 1.5: x: y").tgid, 12u);
}

TEST(KernelLine, WhatIsNoLineIsNone) {
  for (const char* text : {"", "[", "[]", "[000]", "a-1 [000]", "a-1 [000] 1.5", "a-1 [000] 1.5:", "a-1 [x] 1.5: e: y",
                           "a-99999999999 [000] 1.5: e: y", "a [000] 1.5: e: y", "a-1 [99999999] 1.5: e: y",
                           "a-1 [000] 99999999999999999999999: e: y", "\x7f\xff\x01[000]\x02:"})
    EXPECT_FALSE(parse_kernel_line(text)) << text;
}

TEST(KernelLine, LostEventsAreSaidInSeveralWays) {
  EXPECT_EQ(parse_lost_line("CPU:1 [LOST 123 EVENTS]")->count, 123u);
  EXPECT_EQ(parse_lost_line("CPU:1 [LOST 123 EVENTS]")->cpu, 1u);
  EXPECT_EQ(parse_lost_line("  CPU:0 [EVENTS DROPPED]")->count, 0u);
  EXPECT_EQ(parse_lost_line("CPU:3 [12 EVENTS DROPPED]")->count, 12u);
  EXPECT_EQ(parse_lost_line("bar: CPU:1 [21833 EVENTS DROPPED]")->count, 21833u);
  EXPECT_FALSE(parse_lost_line("CPU 1 is empty"));
}

KernelEvent event_of(const char* event, const char* text, EventReading expected = EventReading::kDone) {
  KernelLine line;
  line.tid = 42;
  line.event = event;
  line.text = text;
  KernelEvent read;
  EXPECT_EQ(read_kernel_event(line, read), expected) << text;
  return read;
}

TEST(KernelEvent, SwitchInAllItsForms) {
  for (const char* text :
       {"prev_comm=a b prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=c d next_pid=8 next_prio=120",
        "prev_comm=a b prev_pid=7 prev_prio=120 prev_state=0x1 next_comm=c d next_pid=8 next_prio=120",
        "prev_comm=a b prev_pid=7 prev_prio=120 prev_state=1 ==> next_comm=c d next_pid=8 next_prio=120",
        "a b:7 [120] S ==> c d:8 [120]"}) {
    const KernelEvent event = event_of("sched_switch", text);
    EXPECT_EQ(event.row.tid, 7u) << text;
    EXPECT_EQ(event.row.other, 8u) << text;
    EXPECT_EQ(event.row.value, kLeftSleeping) << text;
    ASSERT_EQ(event.tasks.size(), 2u) << text;
    EXPECT_EQ(event.tasks[0].name, "a b") << text;
    EXPECT_EQ(event.tasks[1].name, "c d") << text;
  }
}

TEST(KernelEvent, NamesThatLookLikeFieldsAreNames) {
  const KernelEvent event = event_of(
      "sched_switch",
      "prev_comm= prev_pid=1 prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=x==>y:[1] next_pid=8 next_prio=120");
  EXPECT_EQ(event.row.tid, 7u);
  EXPECT_EQ(event.row.other, 8u);
  EXPECT_EQ(event.row.value, kLeftRunnable);
  const KernelEvent printed = event_of("sched_switch", "a:1 [2]:7 [120] R ==> b ==> c:8 [120]");
  EXPECT_EQ(printed.row.other, 8u);
}

TEST(KernelEvent, WhoCouldHaveGoneOnWasPreempted) {
  for (const char* state : {"R", "R+", "S+"}) EXPECT_EQ(left_of(std::string_view(state)), kLeftRunnable) << state;
  EXPECT_EQ(left_of(std::string_view("D|K")), kLeftUninterruptible);
  EXPECT_EQ(left_of(std::string_view("X")), kLeftDead);
  EXPECT_EQ(left_of(std::uint64_t{0}), kLeftRunnable);
  EXPECT_EQ(left_of(std::uint64_t{0x100}), kLeftRunnable);
  EXPECT_EQ(left_of(std::uint64_t{0x101}), kLeftRunnable);
  EXPECT_EQ(left_of(std::uint64_t{1}), kLeftSleeping);
  EXPECT_EQ(left_of(std::uint64_t{2}), kLeftUninterruptible);
  EXPECT_EQ(left_of(std::uint64_t{0x80}), kLeftUninterruptible);
  EXPECT_EQ(left_of(std::uint64_t{0x20}), kLeftDead);
}

TEST(KernelEvent, WakesMovesForksAndInterrupts) {
  EXPECT_EQ(event_of("sched_waking", "comm=w x pid=9 prio=120 target_cpu=003").row.value, 3u);
  EXPECT_EQ(event_of("sched_wakeup", "w x:9 [120] success=1 CPU:003").row.value, 3u);
  EXPECT_EQ(event_of("sched_wakeup_new", "w x:9 [120] CPU:003").row.other, 9u);
  EXPECT_EQ(event_of("sched_migrate_task", "comm=w pid=9 prio=120 orig_cpu=1 dest_cpu=2").row.value, 2u);
  EXPECT_EQ(event_of("sched_process_fork", "comm=a pid=42 child_comm=b c child_pid=43").row.other, 43u);
  const KernelEvent irq = event_of("irq_handler_entry", "irq=27 name=virtio1-req.0");
  EXPECT_EQ(irq.row.value, 27u);
  EXPECT_EQ(irq.irq_name, "virtio1-req.0");
  EXPECT_EQ(event_of("softirq_entry", "vec=3 [action=NET_RX]").row.value, 3u);
}

TEST(KernelEvent, HalfLinesAreUnreadableAndOthersUnknown) {
  for (const char* text :
       {"", "prev_comm=a", "prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=c next_pid", "a:7 [120] S",
        "prev_comm=a prev_pid=x prev_state=S ==> next_comm=c next_pid=8"})
    event_of("sched_switch", text, EventReading::kUnreadable);
  event_of("sched_stat_runtime", "comm=a", EventReading::kUnknown);
}

// A run with a probe's trace of this test's host, which began at kStartTicks.
class KernelImport : public testing::Test {
 protected:
  KernelImport() {
    test::TraceFile file;
    file.hooks({test::wait_hook("sem_wait")});
    file.calls(4242, 0, {{.begin_us = 0, .end_us = 5}});
    file.write(run_.file("h-4242-1.hptrace"));
  }

  ImportedFile import(const std::string& text, const std::string& clock = {}) {
    const std::string path = folder_.file("trace.txt");
    std::ofstream(path, std::ios::binary) << text;
    return import_files(ImportForm::kKernel, {path}, run_.path().string(), {}, {clock, {}}).at(0);
  }
  static std::vector<KernelStep> steps(const ImportedFile& file) {
    std::vector<KernelStep> all;
    if (file.traces.empty()) return all;
    const Trace trace = read_trace_file_only(file.traces.at(0));
    EXPECT_TRUE(trace.damages.empty());
    EXPECT_EQ(trace.header.source, kFromKernel);
    KernelWalk walk(trace);
    for (KernelStep step; walk.next(step);) all.push_back(step);
    return all;
  }
  static std::string second(double at) { return fmt::format("{:.6f}", at); }

  TestFolder run_, folder_;
};

constexpr char kTicksTrace[] =
    "# tracer: nop\n#\n"
    "            a-7     [000] d..2. 1000001000: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=R ==> "
    "next_comm=n next_pid=9 next_prio=120\n"
    "CPU:0 [LOST 5 EVENTS]\n"
    "            n-9     [000] d..2. 1000003000: sched_switch: prev_comm=n prev_pid=9 prev_prio=120 prev_state=S ==> "
    "next_comm=a next_pid=7 next_prio=120\n";

TEST_F(KernelImport, TicksJoinTheProbesDirectly) {
  const ImportedFile file = import(kTicksTrace);
  EXPECT_EQ(file.problem, "");
  const auto all = steps(file);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].row.ticks, 1000001000u);
  EXPECT_EQ(all[1].lost, 5u);
  const Trace trace = read_trace_file_only(file.traces[0]);
  // Two ticks are a nanosecond in the probe's trace.
  EXPECT_EQ(trace.clock.monotonic_ns(1000001000), test::kStartMonotonicNs + 500);
  EXPECT_EQ(KernelNames(trace).task(9, 1000001000).name, "n");
  EXPECT_EQ(file.left_out.kinds().at("events that the kernel had lost").count, 5u);
}

TEST_F(KernelImport, SecondsNeedTheirClock) {
  const std::string text = "a-7 [000] d..2. 5.000001: sched_waking: comm=b pid=8 prio=120 target_cpu=000\n";
  for (const char* clock : {"", "local", "global", "perf", "uptime"}) {
    const ImportedFile file = import(text, clock);
    EXPECT_TRUE(file.traces.empty()) << clock;
    EXPECT_THAT(file.problem, HasSubstr("clock")) << clock;
  }
  const ImportedFile file = import(text, "mono");
  ASSERT_EQ(file.traces.size(), 1u) << file.problem;
  const Trace trace = read_trace_file_only(file.traces[0]);
  EXPECT_EQ(trace.clock.monotonic_ns(5'000'001'000), 5'000'001'000u);
}

TEST_F(KernelImport, MarkersTieALocalClock) {
  const std::string text =
      "a-7 [000] ..... 100.000000: tracing_mark_write: hostprobe monotonic_ns=5000000000\n"
      "a-7 [000] d..2. 100.000001: sched_waking: comm=b pid=8 prio=120 target_cpu=000\n"
      "a-7 [000] ..... 101.000000: tracing_mark_write: hostprobe monotonic_ns=6000000000\n";
  const ImportedFile file = import(text, "local");
  ASSERT_EQ(file.traces.size(), 1u) << file.problem;
  const Trace trace = read_trace_file_only(file.traces[0]);
  EXPECT_EQ(trace.clock.monotonic_ns(100'000'001'000), 5'000'001'000u);
}

TEST_F(KernelImport, PerfTellsItsClock) {
  const std::string text =
      "# clockid: monotonic (1)\n"
      "stress-ng-cpu  4711 [000]     5.000001000: sched:sched_switch: prev_comm=stress-ng-cpu prev_pid=4711 "
      "prev_prio=120 "
      "prev_state=R ==> next_comm=b next_pid=8 next_prio=120\n"
      "\tffffffff81a00000 __schedule+0x1 ([kernel.kallsyms])\n\n";
  const ImportedFile file = import(text);
  EXPECT_EQ(steps(file).size(), 1u) << file.problem;
  EXPECT_TRUE(file.left_out.kinds().empty());
}

TEST_F(KernelImport, UnsortedLinesAreSortedPerCpu) {
  std::string text;
  for (const int at : {5, 3, 4, 1, 2})
    text += fmt::format("a-7 [001] d... {}: softirq_entry: vec={}\n", 1'000'000'000 + at, at);
  const auto all = steps(import(text));
  ASSERT_EQ(all.size(), 5u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].row.value, i + 1);
}

TEST_F(KernelImport, RenamedTasksAndReusedIdsHaveTheNameOfTheirTime) {
  const std::string text =
      "old-7 [000] d... 1000000100: softirq_entry: vec=1\n"
      "new name-7 [000] d... 1000000200: softirq_exit: vec=1\n"
      "sh-5 [000] d... 1000000300: sched_process_fork: comm=sh pid=5 child_comm=sh child_pid=7\n";
  const ImportedFile file = import(text);
  ASSERT_EQ(file.traces.size(), 1u);
  const Trace trace = read_trace_file_only(file.traces[0]);
  const KernelNames names(trace);
  EXPECT_EQ(names.task(7, 1000000150).name, "old");
  EXPECT_EQ(names.task(7, 1000000250).name, "new name");
  EXPECT_EQ(names.task(7, 1000000350).name, "sh");
}

TEST_F(KernelImport, AWakeTellsItsContextByTheFlags) {
  const std::pair<const char*, KernelContext> kCases[] = {
      {"d..2.", kContextTask},    {"d.h2.", kContextHardirq},   {"dNH2", kContextHardirq}, {"..s1.", kContextSoftirq},
      {"d.Z2.", kContextUnknown}, {"d..2..3", kContextUnknown}, {"", kContextUnknown}};
  for (const auto& [flags, context] : kCases) {
    const auto wake = [&, flags = flags](const char* event) {
      return fmt::format("a-7 [000] {} 1000001000: {}: comm=b pid=8 prio=120 target_cpu=000\n", flags, event);
    };
    const auto all = steps(import(wake("sched_waking") + wake("sched_wakeup")));
    ASSERT_EQ(all.size(), 2u) << flags;
    EXPECT_EQ(all[0].row.context, context) << flags;
    EXPECT_EQ(all[1].row.context, kContextUnknown) << "it is written where the woken task is to run";
  }
}

// Of a CPU that was taken away the lines end, and begin again later.
TEST_F(KernelImport, ACpuMayEndAndComeBack) {
  std::string text;
  for (const int at : {1000, 2000, 9000})
    text += fmt::format("a-7 [001] d... {}: softirq_entry: vec=1\n", 1'000'000'000 + at);
  for (int at = 1500; at < 9500; at += 1000)
    text += fmt::format("b-8 [000] d... {}: softirq_entry: vec=2\n", 1'000'000'000 + at);
  const ImportedFile file = import(text);
  const auto all = steps(file);
  ASSERT_EQ(all.size(), 11u);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LE(all[i - 1].row.ticks, all[i].row.ticks);
  EXPECT_EQ(kernel_file(read_trace_file_only(file.traces.at(0))).cpus, 2u);
}

TEST_F(KernelImport, TheClocksOfThisBootAreRefusedForARunOfAnother) {
  const std::string text = "a-7 [000] d..2. 5.000001: sched_waking: comm=b pid=8 prio=120 target_cpu=000\n";
  for (const char* clock : {"mono_raw", "boot"}) {
    const ImportedFile file = import(text, clock);
    EXPECT_TRUE(file.traces.empty()) << clock;
    EXPECT_THAT(file.problem, HasSubstr("only the machine itself could compare")) << clock;
  }
}

TEST_F(KernelImport, WhatCannotBeUsedIsCounted) {
  std::string text = std::string(kTicksTrace) + "nonsense\n" + std::string(1 << 20, 'x') + "\n" +
                     "a-7 [000] d... 1000003500: sched_stat_runtime: comm=a\n" +
                     "a-7 [000] d... 1000003600: sched_switch: prev_comm=a prev_p\n" +
                     "a-7 [000] d... 1.5: softirq_entry: vec=1\n";
  text += std::string("\0\xff\x80[000]\x01\n", 10);
  const ImportedFile file = import(text);
  EXPECT_EQ(steps(file).size(), 2u);
  const auto& kinds = file.left_out.kinds();
  EXPECT_EQ(kinds.at("lines that tell of no event").count, 2u);
  EXPECT_EQ(kinds.at("lines that are too long").count, 1u);
  EXPECT_EQ(kinds.at("events 'sched_stat_runtime'").count, 1u);
  EXPECT_EQ(kinds.at("lines that are cut or damaged").count, 1u);
  EXPECT_EQ(kinds.at("lines whose time is written in another way").count, 1u);
}

TEST_F(KernelImport, TraceDatWithoutItsLibraryIsRefusedWithTheWayOut) {
  const ImportedFile file = import(std::string("\x17\x08\x44tracing6") + std::string(100, '\0'));
  EXPECT_TRUE(file.traces.empty());
  EXPECT_THAT(file.problem, HasSubstr("trace-cmd report"));
}

TEST_F(KernelImport, AnEmptyFileAndOneOfOtherThingsGiveNoTrace) {
  EXPECT_THAT(import("").problem, HasSubstr("no event"));
  EXPECT_THAT(import("a b c\n").problem, HasSubstr("no event"));
}

KernelRow switch_row(double us, std::uint32_t from, std::uint32_t to, KernelLeft left) {
  KernelRow row{};
  row.ticks = test::at_us(us);
  row.tid = from;
  row.other = to;
  row.value = left;
  row.what = kKernelSwitch;
  return row;
}

KernelRow row_of(double us, KernelWhat what, std::uint32_t tid, std::uint32_t other, std::uint32_t value) {
  KernelRow row{};
  row.ticks = test::at_us(us);
  row.tid = tid;
  row.other = other;
  row.value = value;
  row.what = what;
  return row;
}

// One recorded process, 100, with the threads 100 and 101.
class NeighboursOf : public testing::Test {
 protected:
  void pause(double begin_us, double end_us) {
    EventRow event{};
    event.ticks = test::at_us(begin_us), event.kind = kEventStopped;
    events_.push_back(event);
    event.ticks = test::at_us(end_us), event.kind = kEventStarted;
    events_.push_back(event);
  }
  KernelShare ask(const std::vector<std::vector<KernelRow>>& cpus, std::uint64_t lost = 0) {
    FileHeader header{};
    header.source = kFromKernel;
    header.start = test::clock_at_us(0);
    header.last = test::clock_at_us(1e6);
    set_field(header.host, "h");
    TraceWriter out(folder_.path().string(), header);
    std::uint32_t number = 0;
    for (const auto& rows : cpus) out.add_kernel(number++, test::at_us(0), lost, rows);
    KernelNameTable names;
    names.add_task(100, 0, "train", 100);
    names.add_task(101, 0, "worker", 100);
    names.add_task(7, 0, "stress", 6);
    names.add_task(6, 0, "stress-main", 6);
    names.add_task(8, 0, "fio", 8);
    names.add_irq(27, "eth0");
    out.add_kernel_names(names.take());
    for (const EventRow& event : events_) out.add_event(event);
    const Trace trace = read_trace_file_only(out.finish());
    KernelAnswer answer;
    add_kernel_trace(
        trace, {{"t", "h", 100, {100, 101}, test::kStartMonotonicNs, test::kStartMonotonicNs + 1'000'000'000}}, answer);
    return answer.shares["t"];
  }
  TestFolder folder_;
  std::vector<EventRow> events_;
};

TEST_F(NeighboursOf, WhatLiesInAPauseIsNotKnown) {
  pause(200, 900);
  const KernelShare share = ask({{switch_row(0, 0, 100, kLeftRunnable), switch_row(100, 100, 7, kLeftRunnable),
                                  switch_row(1000, 7, 100, kLeftRunnable), switch_row(1200, 100, 8, kLeftRunnable),
                                  switch_row(1500, 8, 100, kLeftSleeping)}});
  EXPECT_NEAR(share.seen_ms, 1.5 - 0.7, 1e-6);
  ASSERT_EQ(share.neighbours.size(), 1u);
  EXPECT_EQ(share.neighbours[0].comm, "fio");
  EXPECT_NEAR(share.neighbours[0].took_ms, 0.3, 1e-6) << "behind the pause";
}

TEST_F(NeighboursOf, WhoRanWhileItWasPreemptedTookTheTime) {
  const KernelShare share = ask({{switch_row(0, 0, 100, kLeftRunnable), switch_row(100, 100, 7, kLeftRunnable),
                                  switch_row(1100, 7, 8, kLeftRunnable), switch_row(1400, 8, 100, kLeftSleeping)}});
  ASSERT_EQ(share.neighbours.size(), 2u);
  EXPECT_EQ(share.neighbours[0].comm, "stress-main");
  EXPECT_EQ(share.neighbours[0].pid, 6u);
  EXPECT_NEAR(share.neighbours[0].took_ms, 1.0, 1e-6);
  EXPECT_EQ(share.neighbours[0].supposed_ms, 0);
  EXPECT_EQ(share.neighbours[1].comm, "fio");
  EXPECT_NEAR(share.neighbours[1].took_ms, 0.3, 1e-6);
  EXPECT_NEAR(share.waited_ms, 1.3, 1e-6);
}

// Where a CPU's rows end, who was on it last is on it no longer for sure: no more time is given than up to the last row.
TEST_F(NeighboursOf, ACpuWhoseRowsEndTakesNoMoreTime) {
  const KernelShare share = ask({{switch_row(0, 0, 100, kLeftRunnable), switch_row(100, 100, 7, kLeftRunnable)},
                                 {switch_row(50, 0, 8, kLeftRunnable), row_of(300, kKernelMigrate, 8, 100, 1),
                                  switch_row(500, 8, 100, kLeftSleeping), switch_row(2000, 100, 0, kLeftSleeping)}});
  double took_ms = 0;
  for (const Neighbour& one : share.neighbours) took_ms += one.took_ms;
  EXPECT_NEAR(took_ms, 0.4, 1e-6) << "200 us of the one before it was moved, 200 of the other";
}

TEST_F(NeighboursOf, BlockedTimeIsNobodysAndTheDelayAfterAWakeIs) {
  const KernelShare share = ask({{switch_row(0, 0, 100, kLeftRunnable), switch_row(100, 100, 7, kLeftSleeping),
                                  row_of(500, kKernelWake, 7, 100, 0), switch_row(700, 7, 100, kLeftRunnable)}});
  ASSERT_EQ(share.neighbours.size(), 1u);
  EXPECT_NEAR(share.neighbours[0].took_ms, 0.2, 1e-6);
}

TEST_F(NeighboursOf, SwitchesThatWereNotKeptAreSharedByHalvesAndSaidSo) {
  const KernelShare share = ask({{switch_row(0, 0, 100, kLeftRunnable), switch_row(100, 100, 7, kLeftRunnable),
                                  switch_row(1100, 8, 100, kLeftRunnable)}});
  ASSERT_EQ(share.neighbours.size(), 2u);
  for (const Neighbour& one : share.neighbours) {
    EXPECT_NEAR(one.took_ms, 0.5, 1e-6);
    EXPECT_NEAR(one.supposed_ms, 0.5, 1e-6);
  }
}

TEST_F(NeighboursOf, IdleIsNoNeighbourAndOwnThreadsAreNone) {
  const KernelShare share = ask({{switch_row(0, 0, 100, kLeftRunnable), switch_row(100, 100, 101, kLeftRunnable),
                                  switch_row(300, 101, 0, kLeftSleeping), switch_row(400, 0, 100, kLeftRunnable)}});
  EXPECT_TRUE(share.neighbours.empty());
  EXPECT_NEAR(share.own_ms, 0.2, 1e-6);
}

TEST_F(NeighboursOf, AThreadThatMovesLeavesItsWaitBehind) {
  const KernelShare share = ask({{switch_row(0, 0, 100, kLeftRunnable), switch_row(100, 100, 7, kLeftRunnable),
                                  row_of(200, kKernelMigrate, 7, 100, 1), switch_row(900, 7, 0, kLeftSleeping)},
                                 {switch_row(50, 0, 8, kLeftRunnable), switch_row(250, 8, 100, kLeftSleeping)}});
  ASSERT_EQ(share.neighbours.size(), 2u);
  EXPECT_NEAR(share.neighbours[0].took_ms, 0.1, 1e-6);  // stress, until it was moved
  EXPECT_NEAR(share.neighbours[1].took_ms, 0.05, 1e-6);
}

TEST_F(NeighboursOf, InterruptsAreThoseOfWhomTheyInterruptWithoutNestedOnes) {
  const KernelShare share = ask({{switch_row(0, 0, 100, kLeftRunnable), row_of(10, kKernelSoftirqBegin, 100, 0, 3),
                                  row_of(20, kKernelIrqBegin, 100, 0, 27), row_of(25, kKernelIrqEnd, 100, 0, 27),
                                  row_of(40, kKernelSoftirqEnd, 100, 0, 3), switch_row(50, 100, 7, kLeftSleeping),
                                  row_of(60, kKernelIrqBegin, 7, 0, 27), row_of(70, kKernelIrqEnd, 7, 0, 27),
                                  row_of(80, kKernelIrqEnd, 7, 0, 9)}});
  EXPECT_EQ(share.hard, 1u);
  EXPECT_EQ(share.soft, 1u);
  EXPECT_NEAR(share.hard_ms, 0.005, 1e-6);
  EXPECT_NEAR(share.soft_ms, 0.025, 1e-6);
  ASSERT_EQ(share.irqs.size(), 2u);
  EXPECT_EQ(share.irqs[0].name, "NET_RX");
  EXPECT_EQ(share.irqs[1].name, "eth0");
}

TEST(KernelWalk, BlocksThatOverlapAreMergedByTime) {
  TestFolder folder;
  FileHeader header{};
  header.source = kFromKernel;
  header.start = test::clock_at_us(0);
  header.last = test::clock_at_us(1e6);
  TraceWriter out(folder.path().string(), header);
  out.add_kernel(0, test::at_us(0), 0, {row_of(1, kKernelExec, 1, 0, 0), row_of(4, kKernelExec, 1, 0, 0)});
  out.add_kernel(0, test::at_us(0), 3, {row_of(2, kKernelExec, 1, 0, 0), row_of(3, kKernelExec, 1, 0, 0)});
  out.add_kernel(0, test::at_us(4), 0, {row_of(5, kKernelExec, 1, 0, 0)});
  out.add_kernel(0, test::at_us(5), 2, {});
  const Trace trace = read_trace_file_only(out.finish());
  KernelWalk walk(trace);
  std::uint64_t last = 0, count = 0, lost = 0;
  for (KernelStep step; walk.next(step); ++count, last = step.row.ticks, lost += step.lost)
    EXPECT_GE(step.row.ticks, last);
  EXPECT_EQ(count, 5u);
  EXPECT_EQ(lost, 3u);
  EXPECT_EQ(kernel_file(trace).lost, 5u);
  std::string text;
  EXPECT_TRUE(dump_run(trace.path, DumpForm::kJson, [&](std::string_view part) { text += part; }).empty());
  EXPECT_THAT(text, HasSubstr("\"lost\":2"));
  EXPECT_THAT(text, HasSubstr("sched_process_exec"));
}

}  // namespace
}  // namespace hostprobe::analysis
