// sleep.cpp: see sleep.h.
#include "probe/writer/sleep.h"

#include "probe/record/bell.h"
#include "probe/runtime/clock.h"
#include "probe/sources/halts.h"
#include "probe/sources/sources.h"

namespace hostprobe::probe {

void sleep_until_needed(std::uint64_t next_round_ns, bool (*is_called)()) {
  const std::uint32_t rung = bell_count();
  while (bell_count() == rung && !is_called()) {
    const std::uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC), source_ns = sources_due(now_ns);
    const std::uint64_t due_ns = source_ns < next_round_ns ? source_ns : next_round_ns;
    if (now_ns >= due_ns) return;
    sleep_and_look(rung, due_ns, is_called);
  }
}

}  // namespace hostprobe::probe
