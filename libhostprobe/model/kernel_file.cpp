// kernel_file.cpp: see kernel_file.h.
#include "kernel_file.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "trace/kernel_rows.h"
#include "trace/kernel_totals.h"
#include "trace/trace_head.h"

namespace hostprobe::analysis {

KernelFile kernel_file(const Trace& trace) {
  KernelFile file;
  file.path = trace.path;
  file.host = host_of(trace.header);
  file.command = std::string(trace.header.command, strnlen(trace.header.command, sizeof(trace.header.command)));
  std::set<std::uint32_t> cpus;
  std::uint64_t begin = UINT64_MAX, end = 0;
  for (const KernelPart& part : kernel_parts(trace)) {
    cpus.insert(part.head.cpu);
    file.rows += part.head.count;
    file.lost += part.head.lost;
    if (part.head.count == 0) continue;
    begin = std::min(begin, part.head.begin_ticks);
    end = std::max(end, part.head.end_ticks);
  }
  for (const KernelTotalsPart& part : kernel_totals(trace)) {
    file.has_totals = true;
    file.lost += part.head.lost;
    file.cost_ms += 1e-6 * static_cast<double>(part.head.cost_ns);
    for (std::uint32_t i = 0; i < part.head.threads; ++i) file.rows += part.thread(i).switches;
    begin = std::min(begin, part.head.begin_ticks);
    end = std::max(end, part.head.end_ticks);
  }
  file.cpus = static_cast<std::uint32_t>(cpus.size());
  if (begin > end) return file;
  file.begin_ns = trace.clock.monotonic_ns(begin);
  file.end_ns = trace.clock.monotonic_ns(end);
  return file;
}

}  // namespace hostprobe::analysis
