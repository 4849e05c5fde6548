// idle_cpus.cpp: see idle_cpus.h.
#include "probe/fixes/placement/idle_cpus.h"

#include <stdlib.h>
#include <string.h>

namespace hostprobe::probe {
namespace {

// Of a CPU's time: who polls there takes no more than that from others, and stops when it is taken away.
constexpr std::uint64_t kIdlePercent = 70;

// `line`: what follows "cpu". Of all CPUs together it has no number.
void add_line(const char* line, const CpuSet& cpus, CpuTimes& out) {
  if (*line < '0' || *line > '9') return;
  char* next = nullptr;
  const unsigned long cpu = strtoul(line, &next, 10);
  if (cpu >= kMostCpus || !cpus.has(static_cast<unsigned>(cpu))) return;
  constexpr unsigned kFields = 8, kIdle = 3, kWaitsForDisk = 4;  // user nice system idle iowait irq softirq steal
  std::uint64_t fields[kFields], all = 0;
  for (std::uint64_t& one : fields) {
    const char* begin = next;
    one = strtoull(begin, &next, 10);
    if (next == begin) return;
    all += one;
  }
  out.idle += fields[kIdle] + fields[kWaitsForDisk];
  out.all += all;
  ++out.cpus;
}

}  // namespace

bool parse_cpu_times(const char* stat, const CpuSet& cpus, CpuTimes& out) {
  out = CpuTimes{};
  const char* line = stat;
  for (const char* end; strncmp(line, "cpu", 3) == 0 && (end = strchr(line, '\n')) != nullptr; line = end + 1)
    add_line(line + 3, cpus, out);
  return out.cpus > 0;
}

unsigned idle_cpus(const CpuTimes& before, const CpuTimes& now, std::uint64_t ours) {
  if (now.cpus == 0 || now.cpus != before.cpus || now.all <= before.all || now.idle < before.idle) return 0;
  const std::uint64_t all = now.all - before.all, idle = now.idle - before.idle + ours;
  // Whole CPUs, of which the last one need not be idle all of the time.
  const std::uint64_t hundredths = 100 * idle * now.cpus / all + (100 - kIdlePercent);
  const std::uint64_t whole = hundredths / 100;
  return static_cast<unsigned>(whole < now.cpus ? whole : now.cpus);
}

}  // namespace hostprobe::probe
