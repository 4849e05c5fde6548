// calibrate.h: what hostprobe itself costs on this CPU, for the own-cost line of every report.
//
// Room 2 (probe/). Writer thread only, once: the real reserve/commit code is run on a chunk of its own.
#pragma once

namespace hostprobe::probe {

// Of this machine, so a forked child knows them from its parent; into the header.
void know_costs();
void put_costs_into_header();

}  // namespace hostprobe::probe
