// sources.h: all sources, in turn. What each moment is: source.h.
//
// Room 2 (probe/). By the writer; a dump and the budget ask as well. Unit tests put fakes in their place.
#pragma once

#include "probe/sources/source.h"

namespace hostprobe::probe {

void begin_sources(const Round& round);
void tick_sources(const Round& round);
// The earliest of their times.
std::uint64_t sources_due(std::uint64_t now_ns);
void tend_sources_between();
void dump_sources();
// Ticks that they have cost the program's threads so far, by what the kernel does for us on them.
struct SourcesCost {
  double switches = 0, samples = 0;
  double all() const { return switches + samples; }
};
SourcesCost sources_cost();
void end_sources(bool has_file);

}  // namespace hostprobe::probe
