// cpu_set.cpp: see cpu_set.h. Masks are read and set by bare system calls: libc's functions are hooked, and answer otherwise while
// threads are pinned (pin.cpp).
#include "probe/fixes/placement/cpu_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/runtime/at_start.h"

namespace hostprobe::probe {

bool parse_cpus(const char* text, CpuSet& out) {
  out = CpuSet{};
  bool any = false;
  while (*text >= '0' && *text <= '9') {
    char* end = nullptr;
    const unsigned long first = strtoul(text, &end, 10);
    unsigned long last = first;
    if (*end == '-') last = strtoul(end + 1, &end, 10);
    if (last < first || last >= kMostCpus) return false;
    for (unsigned long cpu = first; cpu <= last; ++cpu) out.add(static_cast<unsigned>(cpu));
    any = true;
    text = end;
    if (*text != ',') break;
    ++text;
  }
  return any && (*text == 0 || *text == '\n');
}

void write_cpus(const CpuSet& cpus, char* out, std::size_t bytes) {
  std::size_t used = 0;
  out[0] = 0;
  for (unsigned first = cpus.next(0), last; first < kMostCpus; first = cpus.next(last + 1)) {
    for (last = first; cpus.has(last + 1);) ++last;
    char piece[24];
    const char* comma = used == 0 ? "" : ",";
    const int length = first == last ? snprintf(piece, sizeof piece, "%s%u", comma, first)
                                     : snprintf(piece, sizeof piece, "%s%u-%u", comma, first, last);
    const auto more = static_cast<std::size_t>(length);
    if (used + more + 4 > bytes) {
      if (used + 4 <= bytes) memcpy(out + used, "...", 4);
      return;
    }
    memcpy(out + used, piece, more + 1);
    used += more;
  }
}

int cpus_of_thread(int tid, CpuSet& out) {
  out = CpuSet{};
  const long answer = system_call(SYS_sched_getaffinity, tid, sizeof out, word_of_pointer(&out));
  return answer < 0 ? static_cast<int>(answer) : 0;
}

int set_cpus_of_thread(int tid, const CpuSet& cpus) {
  return static_cast<int>(system_call(SYS_sched_setaffinity, tid, sizeof cpus, word_of_pointer(&cpus)));
}

}  // namespace hostprobe::probe
