// calibrate.h: what hostprobe itself costs on this CPU, for the own-cost line of every report.
//
// Room 2 (probe/). Writer thread only, once: the real reserve/commit code is run on a chunk of its own.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Of this machine, so a forked child knows them from its parent.
bool costs_are_known();
void measure_costs();
void put_costs_into_header();

}  // namespace hostprobe::probe
