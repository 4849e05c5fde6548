// neighbours.h: who had the CPU while a recorded thread could have run, and which interrupts came while one ran.
//
// Room 3. Out of what the kernel told of the whole machine (format/kernel.h). Where only switches of the recorded threads were
// kept, who ran in between is known at both ends of the time alone: if those are two, each is given half, and it is said so.
#pragma once

#include "kernel_share.h"

namespace hostprobe::analysis {

// Adds what it tells of `subjects`. A trace whose host is not known is taken for one of the only host.
void add_kernel_trace(const Trace& trace, const std::vector<KernelSubject>& subjects, KernelAnswer& answer);

}  // namespace hostprobe::analysis
