// bpf_problem.h: what keeps programs from being loaded into the kernel, as far as it can be known without trying.
//
// Room kernel/bpf/.
#pragma once

#include <string>

namespace hostprobe::kernel {

// "" = nothing is known to. Else what, why, and what to do.
std::string bpf_problem();

}  // namespace hostprobe::kernel
