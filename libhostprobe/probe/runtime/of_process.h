// of_process.h: what becomes of each variable in a forked child.
//
// Room 2 (probe/). Every variable that is written to carries one of these (a house rule), or HP_START_DATA, which children
// keep. What is of the process begins as zero and is zero again in a child; a list of functions kept by hand would forget
// one.
#pragma once

// Of this process: zeroed as soon as a child of a recording process runs.
#define HP_OF_PROCESS __attribute__((section("hp_process")))
// Of what this process records: zeroed when a child begins to record. Most children never do.
#define HP_OF_RECORDING __attribute__((section("hp_recording")))
// True of children as well: what was found in libraries, measured, or registered; and scratch space.
#define HP_KEPT_BY_CHILDREN __attribute__((section("hp_kept")))

namespace hostprobe::probe {

void forget_process();
void forget_recording();

}  // namespace hostprobe::probe
