// golden_writer.cpp: wrote version3.hptrace and its dump: mode flight, with sums, records that are summed and records that
// are not, events. A golden file is never written again once its version is released; a new version gets a new one, and what
// wrote the earlier ones is in the history of this file (version 2: every kind of block and form of a label, packed).
#include <filesystem>

#include "support/counters.h"
#include "support/trace_file.h"

namespace hostprobe::test {
namespace {

constexpr std::uint64_t kTorch = 0x7f0000000000;

void describe(TraceFile& file) {
  file.header.rank = 1;
  file.header.local_rank = 1;
  file.header.world_size = 2;
  file.header.record_cost_ticks = 60 * 1024;
  file.header.quiet_cost_ticks = 4 * 1024;
  file.header.writer_cpu_ns = 250'000;
  file.header.records = 25;
  set_text(file.header.mode, "flight");
  set_text(file.header.hostprobe_version, "0.1.0");
}

std::uint64_t ticks_of(double us) { return at_us(us) - at_us(0); }

std::string event(double at, EventKind kind, std::uint32_t reason, std::uint64_t number, std::uint64_t amount,
                  std::string_view text) {
  EventRow row{at_us(at), kind, reason, number, amount, {}};
  set_text(row.text, text);
  return bytes_of(row);
}

// Of thread 4242: 16 waits and 4 launches of which only counters are left, 3 waits in the dump, 2 in the trace itself.
void write(const std::filesystem::path& folder) {
  TraceFile file, dump;
  describe(file);
  for (TraceFile* each : {&file, &dump}) each->header.cookie = 0x0123456789abcdef;
  file.hooks({wait_hook("sem_clockwait"), launch_hook("cuLaunchKernel")});
  file.module(kTorch, kTorch + 0x100000, "/no/such/lib/libtorch_cpu.so");
  file.thread(thread_entry(4242, "python3", 25));
  const auto wait = [](double begin_us, std::uint16_t flags) {
    return Call{.hook = 1, .begin_us = begin_us, .end_us = begin_us + 50, .c = kTorch + 0x1600, .flags = flags};
  };
  dump.calls(4242, 20, {wait(700, kRecordAggregated), wait(800, kRecordAggregated), wait(900, kRecordAggregated)});
  dump.write(folder / "version3-0001.hpdump");
  file.calls(4242, 23, {wait(1000, 0), wait(1100, 0)});
  const std::vector<std::uint64_t> waits(19, ticks_of(50)), launches(4, ticks_of(5)), gaps(3, ticks_of(20));
  file.block(kBlockCounters,
             sums_row({.tid = 4242, .hook = 1, .site = kTorch + 0x1600, .counters = {waits}, .amount = 2}));
  file.block(kBlockCounters, sums_row({.tid = 4242, .hook = 2, .counters = {launches, gaps}}));
  file.block(kBlockEvents, event(950, kEventTrigger, kBySlowStep, 1, 3, "step 7 took 9 ms, the median is 3 ms") +
                               event(1200, kEventTrigger, kBySignal, 0, 2, "signal 12"));
  file.write(folder / "version3.hptrace");
}

}  // namespace
}  // namespace hostprobe::test

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  hostprobe::test::write(argv[1]);
  return 0;
}
