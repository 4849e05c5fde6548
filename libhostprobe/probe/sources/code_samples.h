// code_samples.h: which code running threads are in, by a timer of the kernel's for each that counts its CPU time.
//
// Room 2 (probe/). The writer thread only. The kernel writes the address into memory of ours, in an interrupt of its own: no signal,
// nothing runs in the program. A thread's switches cost it more meanwhile (perf_event's own bookkeeping, measured in the process: perf/perf_event.h); that is
// counted as hostprobe's, and a thread that switches very often has its timer for so small a part of the time that it costs no more.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Of thread `tid`, from now on; at its end, or when it is no longer wanted, nothing has to be said. Cheap when it is there already.
void want_code_samples(std::uint32_t tid, std::uint64_t start_ticks);
// Four times a second: what came since, into the rows (sample_rows.h). Timers that nobody wanted for long are ended.
void take_code_samples();
// Until they are wanted again.
void end_code_samples();
// What the timers have cost the program's threads so far.
double code_sample_ticks();

}  // namespace hostprobe::probe
