// cpu_claims.h: which CPUs the ranks of a user on this machine have taken, and how many ranks of a communicator are here.
//
// Room 2 (probe/). One file in the user's runtime folder, in which byte N stands for CPU N: a process that holds a lock on the byte
// has the CPU. Far behind them each communicator has bytes of its own, one a rank. The kernel takes the lock back when the process ends, however it does. Simulated hosts are this machine, and so
// share the file. Cold; the writer thread only, whose descriptor table is its own as a rule. Where it is the program's, which may
// close what it likes, claims_hold() tells so.
#pragma once

#include "probe/fixes/placement/cpu_set.h"

namespace hostprobe::probe {

// $XDG_RUNTIME_DIR/hostprobe-cpus, else /dev/shm/hostprobe-cpus-UID.
void claims_path(char** environment, char* out, std::size_t bytes);

// 0, or an error number: the file cannot be made, or is not ours.
int open_claims(const char* path);
// Nobody else can hold what is claimed until it is released. False: somebody has one of them; then nothing more is held.
bool claim_cpus(const CpuSet& cpus);
void release_cpus(const CpuSet& cpus);
// Of `among`: those that another process has.
CpuSet claimed_by_others(const CpuSet& among);
// Says that this process is `rank` of the communicator, and counts the processes on this machine that have said so, this one
// included.
unsigned count_ranks_here(std::uint64_t communicator, unsigned rank, unsigned size);
// False: the file was closed behind our back, or another thread has become the writer.
bool claims_hold();
void release_claims();

}  // namespace hostprobe::probe
