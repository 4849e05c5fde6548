// header_sums.h: records, losses and own cost in sum, as the file's header says them.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace, when it has counted what the threads did.
#pragma once

namespace hostprobe::probe {

void sum_up();

}  // namespace hostprobe::probe
