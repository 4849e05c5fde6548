// machine_load.cpp: see machine_load.h.
//
// Price, 2 CPUs, kernel 6.18: docs/decisions/0029-machine-load.md.
#include "probe/sources/machine_load.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/record/gate.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/small_file.h"
#include "probe/writer/file/row_ring.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kPauseNs = 1000000000, kPauseForEachNs = 10000;
constexpr std::uint32_t kRows = 512;
HP_KEPT_BY_CHILDREN MachineRow g_rows[kRows];
HP_OF_RECORDING RowRing<MachineRow, kRows> g_ring;
HP_OF_RECORDING std::uint64_t g_next_ns = 0;
HP_OF_RECORDING CpuLines g_first_cpus;
HP_OF_RECORDING std::uint64_t g_first_cpus_ns = 0;

// The line of all interrupts is as long as a machine has of them, so only what lines begin with is kept.
void read_stat(MachineRow& row, CpuLines& cpus) {
  const std::uint64_t ns_per_tick = 1000000000u / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  char text[4096], line[160];
  const int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  std::size_t held = 0;
  for (ssize_t got; (got = read(fd, text, sizeof text)) > 0;)
    for (ssize_t i = 0; i < got; ++i) {
      if (text[i] != '\n') {
        if (held < sizeof line - 1) line[held++] = text[i];
        continue;
      }
      line[held] = 0;
      held = 0;
      parse_stat_line(line, ns_per_tick, row);
      parse_cpu_line(line, ns_per_tick, cpus);
    }
  close(fd);
}

void read_pressure(const char* path, std::uint64_t* some_us, std::uint64_t* full_us) {
  char text[256];
  if (read_small_file(path, text, sizeof text)) parse_pressure(text, some_us, full_us);
}

// Into the file's header.
void note_idle(const CpuLines& cpus) {
  const std::uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  if (g_first_cpus_ns == 0) {
    g_first_cpus = cpus;
    g_first_cpus_ns = now_ns;
  }
  g_header.machine_cpus = cpus.count;
  if (cpus.idle_ns < g_first_cpus.idle_ns) return;  // the kernel's count may go back
  g_header.idle_ns = cpus.idle_ns - g_first_cpus.idle_ns;
  g_header.idle_of_ns = now_ns - g_first_cpus_ns;
}

MachineRow read_all() {
  MachineRow row;
  memset(&row, 0xff, sizeof row);
  CpuLines cpus{};
  read_stat(row, cpus);
  note_idle(cpus);
  read_pressure("/proc/pressure/cpu", &row.cpu_some_us, nullptr);
  read_pressure("/proc/pressure/memory", &row.memory_some_us, &row.memory_full_us);
  read_pressure("/proc/pressure/io", &row.io_some_us, &row.io_full_us);
  row.ticks = ticks();
  return row;
}

bool is_on() { return g_options.sched == 0 && g_options.mode != kMonitor && g_gate.recording != 0; }

const char* rest_of(const char* line, const char* name) {
  const std::size_t length = strlen(name);
  return strncmp(line, name, length) == 0 && line[length] == ' ' ? line + length : nullptr;
}

std::uint64_t total_in(const char* text, const char* name) {
  const char* line = strstr(text, name);
  const char* total = line == nullptr ? nullptr : strstr(line, " total=");
  if (total == nullptr || memchr(line, '\n', static_cast<std::size_t>(total - line)) != nullptr) return kNotReadable;
  return strtoull(total + 7, nullptr, 10);
}

}  // namespace

void parse_stat_line(const char* line, std::uint64_t ns_per_tick, MachineRow& row) {
  if (const char* rest = rest_of(line, "intr")) row.interrupts = strtoull(rest, nullptr, 10);
  if (const char* rest = rest_of(line, "softirq")) row.soft_interrupts = strtoull(rest, nullptr, 10);
  const char* rest = rest_of(line, "cpu");
  if (rest == nullptr) return;
  constexpr unsigned kFields = 8;  // user nice system idle iowait irq softirq steal
  std::uint64_t fields[kFields];
  for (std::uint64_t& one : fields) {
    char* next = nullptr;
    one = strtoull(rest, &next, 10);
    if (next == rest) return;
    rest = next;
  }
  row.interrupt_ns = fields[5] * ns_per_tick;
  row.soft_interrupt_ns = fields[6] * ns_per_tick;
  row.steal_ns = fields[7] * ns_per_tick;
}

void parse_cpu_line(const char* line, std::uint64_t ns_per_tick, CpuLines& cpus) {
  if (strncmp(line, "cpu", 3) != 0) return;
  if (line[3] >= '0' && line[3] <= '9') ++cpus.count;
  if (line[3] != ' ') return;
  std::uint64_t ticks_of[5];  // user nice system idle iowait
  const char* rest = line + 3;
  for (std::uint64_t& one : ticks_of) {
    char* next = nullptr;
    one = strtoull(rest, &next, 10);
    if (next == rest) return;
    rest = next;
  }
  cpus.idle_ns = (ticks_of[3] + ticks_of[4]) * ns_per_tick;
}

void parse_pressure(const char* text, std::uint64_t* some_us, std::uint64_t* full_us) {
  *some_us = total_in(text, "some ");
  if (full_us != nullptr) *full_us = total_in(text, "full ");
}

void write_machine_load() { g_ring.write(g_rows, kBlockMachine); }

void note_machine_load(const Round& round) {
  if (!round.shed && is_on() && (round.last || round.now_ns >= g_next_ns)) {
    const std::uint64_t begin_ns = read_clock_ns(CLOCK_MONOTONIC);
    g_ring.add(g_rows, read_all());
    const std::uint64_t took_ns = read_clock_ns(CLOCK_MONOTONIC) - begin_ns;
    g_next_ns = round.now_ns + (took_ns * kPauseForEachNs > kPauseNs ? took_ns * kPauseForEachNs : kPauseNs);
  }
  if (round.last || g_options.mode == kTrace) write_machine_load();
}

}  // namespace hostprobe::probe
