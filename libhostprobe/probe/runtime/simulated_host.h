// simulated_host.h: which simulated host a rank runs on, for tests of what spans hosts.
//
// Room 2 (probe/). SIMNODE_HOSTS=H spreads the ranks of a job over H hosts that are all this machine. Then a trace carries
// another host name, and a clock that is wrong by what SIMNODE_CLOCK_OFFSET_MS and SIMNODE_CLOCK_PPM say of that host (one
// number per host, separated by commas): only what the trace believes, nothing in the program. Unset: nothing happens.
#pragma once

namespace hostprobe::probe {

// Before the first clock is read.
void find_simulated_host(char** environment);
// -1: the machine is what it is.
int simulated_host();

}  // namespace hostprobe::probe
