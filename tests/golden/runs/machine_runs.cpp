// machine_runs.cpp: see runs.h.
#include <algorithm>

#include "format/frequency.h"
#include "format/machine.h"
#include "format/samples.h"
#include "format/switches.h"
#include "import/ftrace/kernel_table.h"
#include "runs.h"
#include "support/trace_file.h"
#include "trace/trace_writer.h"

namespace hostprobe::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPython = 0x100000, kLib = 0x200000;
constexpr std::uint32_t kMain = 4242, kOther = 4250, kServer = 70;

TraceFile process() {
  TraceFile file;
  file.header.pid = kMain;
  file.header.cpus = 4;
  set_text(file.header.program, "/no/such/bin/python3.11");
  file.hooks({{.name = "hostprobe_step", .family = Family::kPython, .labels = {"number"}, .blocking = false},
              wait_hook("read"),
              launch_hook("cuLaunchKernel"),
              wait_hook("sem_wait")});
  file.module(kPython, kPython + 0x1000, "/no/such/bin/python3.11");
  file.module(kLib, kLib + 0x1000, "/no/such/libcrunch.so");
  ThreadEntry main = thread_entry(kMain, "python3", 60);
  main.cpu_ns = 500'000'000;
  main.run_delay_ns = 60'000'000;
  file.thread(main);
  file.thread(thread_entry(kOther, "helper"));
  return file;
}

std::vector<Call> calls() {
  std::vector<Call> all;
  for (int i = 0; i < 30; ++i) {
    const double at = 30'000.0 * i;
    all.push_back({.hook = 2, .begin_us = at + 2000, .end_us = at + 9000, .c = kLib + 1});
    all.push_back(
        {.hook = 3, .begin_us = at + 9500, .end_us = at + 9510, .b = pack_dim(8, 1, 1), .c = pack_dim(32, 1, 1)});
    all.push_back(
        {.hook = 3, .begin_us = at + 9700, .end_us = at + 9710, .b = pack_dim(8, 1, 1), .c = pack_dim(32, 1, 1)});
    all.push_back({.hook = 4,
                   .begin_us = at + 12'000,
                   .end_us = at + 15'000,
                   .b = pack_post(kOther, at_us(at + 14'900)),
                   .c = kPython + 4});
    all.push_back({.hook = 1, .begin_us = at, .end_us = at + 30'000, .a = std::uint64_t(i)});
  }
  return all;
}

std::string frequencies() {
  std::string rows;
  for (int i = 0; i < 90; ++i) {
    const double ghz = i >= 30 && i < 60 ? 2.0 : i % 4 == 2 ? 2.4 : 3.8;
    const auto chain = static_cast<std::uint32_t>(8192 / ghz * static_cast<double>(kTicksPerNs));
    rows += bytes_of(FrequencyRow{at_us(10'000.0 * i), 8192, chain, kMain, static_cast<std::uint16_t>(i % 4),
                                  static_cast<std::uint16_t>(i % 30 == 7 ? 2 : 0)});
  }
  return rows;
}

std::string machine_counts() {
  std::string rows;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::uint64_t each = 1'000'000'000 + 20'000'000 * i;
    rows += bytes_of(MachineRow{at_us(200'000.0 * static_cast<double>(i)), each, each + 5, each + 7, each / 1000,
                                each / 900, each / 10, each / 20, kNotReadable, each / 40, each / 50});
  }
  return rows;
}

std::string samples() {
  std::string rows;
  const auto add = [&rows](double us, std::uint16_t kind, std::uint64_t address, std::uint32_t stack,
                           std::uint32_t running_us) {
    rows += bytes_of(SampleRow{at_us(us), kMain, kind, 0, address, stack, running_us});
  };
  for (int i = 0; i < 60; ++i) {
    add(12'000.0 * i, kSamplePython, 0, i % 20 == 19 ? 0 : 1 + static_cast<std::uint32_t>(i % 3), 4000);
    add(12'000.0 * i + 500, kSampleCode, i % 4 == 0 ? kLib + 8 : kPython + 8, 0, 4000);
  }
  return rows;
}

// How fast its CPUs were, what the machine did besides, and what its threads ran.
void make_machine(const fs::path& folder) {
  TraceFile file = process();
  StringArea names;
  const auto augment = names.add("augment (train.py:30)"), again = names.add("augment (train.py:31)"),
             encode = names.add("JSONEncoder.iterencode (encoder.py:250)"), train = names.add("train (train.py:90)");
  file.strings(names);
  file.stack(0, {}, {augment, train});
  file.stack(1, {}, {again, train});
  file.stack(2, {}, {encode, train});
  file.block(kBlockFrequency, frequencies());
  file.block(kBlockMachine, machine_counts());
  file.block(kBlockSamples, samples());
  std::string rows;
  for (int i = 0; i < 30; ++i) {
    const double at = 30'000.0 * i;
    const auto row = [&rows](double us, std::uint16_t what) {
      rows += bytes_of(SwitchRow{at_us(us), kMain, static_cast<std::uint16_t>(static_cast<int>(us / 7000) % 2), what});
    };
    row(at + 2010, kSwitchedOut), row(at + 8990, kSwitchedIn);
    row(at + 9600, kSwitchedOutRunnable), row(at + 9650, kSwitchedIn);
    row(at + 12'010, kSwitchedOut), row(at + 14'950, kSwitchedIn);
  }
  file.block(kBlockSwitches, bytes_of(SwitchesHead{at_us(0), at_us(900'000), 0, 180, 1}) + rows);
  file.calls(kMain, 0, calls());
  file.write(folder / "testhost-4242-1.hptrace");
}

FileHeader kernel_header(const char* command) {
  FileHeader header{};
  header.source = kFromKernel;
  header.start = clock_at_us(0);
  header.last = clock_at_us(1e6);
  analysis::set_field(header.host, "testhost");
  analysis::set_field(header.boot_id, "no-such-boot");
  analysis::set_field(header.command, command);
  return header;
}

void add_names(analysis::TraceWriter& out) {
  analysis::KernelNameTable names;
  names.add_task(kMain, 0, "python3", kMain);
  names.add_task(kOther, 0, "helper", kMain);
  names.add_task(kServer, 0, "redis io", kServer);
  names.add_irq(27, "virtio0");
  out.add_kernel_names(names.take());
}

KernelRow row_of(double us, KernelWhat what, std::uint32_t tid, std::uint32_t other, std::uint32_t value,
                 KernelContext context = kContextUnknown) {
  return {at_us(us), tid, other, value, static_cast<std::uint16_t>(what), static_cast<std::uint16_t>(context)};
}

// The main thread sleeps in its read, is woken by a server or an interrupt, and waits for its CPU, which the server has.
void make_scheduler(const fs::path& folder) {
  TraceFile file = process();
  file.calls(kMain, 0, calls());
  file.write(folder / "testhost-4242-1.hptrace");
  analysis::TraceWriter out(folder.string(), kernel_header("hostprobe sched"));
  std::vector<KernelRow> rows;
  for (int i = 0; i < 30; ++i) {
    const double at = 30'000.0 * i;
    rows.push_back(row_of(at + 2100, kKernelSwitch, kMain, kServer, kLeftSleeping));
    if (i % 3 == 0) {
      rows.push_back(row_of(at + 8000, kKernelIrqBegin, kServer, 0, 27));
      rows.push_back(row_of(at + 8010, kKernelWake, kServer, kMain, 0, kContextHardirq));
      rows.push_back(row_of(at + 8020, kKernelIrqEnd, kServer, 0, 27));
    } else {
      rows.push_back(row_of(at + 8010, kKernelWake, kServer, kMain, 0, kContextTask));
    }
    rows.push_back(row_of(at + 8900, kKernelSwitch, kServer, kMain, kLeftRunnable));
    rows.push_back(row_of(at + 9600, kKernelIrqBegin, kMain, 0, 27));
    rows.push_back(row_of(at + 9610, kKernelIrqEnd, kMain, 0, 27));
    rows.push_back(row_of(at + 9620, kKernelSoftirqBegin, kMain, 0, 3));
    rows.push_back(row_of(at + 9640, kKernelSoftirqEnd, kMain, 0, 3));
    rows.push_back(row_of(at + 20'000, kKernelSwitch, kMain, kServer, kLeftRunnable));
    rows.push_back(row_of(at + 21'000, kKernelSwitch, kServer, kMain, kLeftSleeping));
    rows.push_back(row_of(at + 22'000, kKernelMigrate, kServer, kOther, 1));
  }
  out.add_kernel(0, at_us(0), 5, rows);
  out.add_kernel(1, at_us(0), 0,
                 {row_of(3000, kKernelFork, kServer, 71, 0), row_of(3100, kKernelExec, 71, 0, 0),
                  row_of(900'000, kKernelExit, 71, 0, 0)});
  add_names(out);
  out.finish();
}

// The same, added up in the kernel.
void make_totals(const fs::path& folder) {
  TraceFile file = process();
  file.calls(kMain, 0, calls());
  file.write(folder / "testhost-4242-1.hptrace");
  analysis::TraceWriter out(folder.string(), kernel_header("hostprobe sched --source bpf"));
  KernelTotalsHead head{};
  head.begin_ticks = at_us(0);
  head.end_ticks = at_us(900'000);
  head.cost_ns = 900'000;
  head.lost = 4;
  add_names(out);
  out.add_kernel_totals(head, {{kMain, kMain, 90, 12'000'000, 30'000'000, 500'000, 200'000}},
                        {{kMain, kServer, 25'000'000}}, {{kMain, 27, 30, 300'000, 0}, {kMain, 3, 30, 600'000, 1}});
  out.finish();
}

}  // namespace

std::vector<MadeRun> machine_runs() {
  return {{"machine", make_machine}, {"scheduler", make_scheduler}, {"totals", make_totals}};
}

}  // namespace hostprobe::test
