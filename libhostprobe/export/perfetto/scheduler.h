// perfetto_kernel.h: what the kernel told, as Perfetto's own records of the scheduler: it makes the rows of the CPUs, the states
// of threads and who woke whom of them.
//
// Room 3.
#pragma once

#include "perfetto_axis.h"
#include "perfetto_packets.h"

namespace hostprobe::analysis {

void write_perfetto_kernel(const Trace& trace, const PerfettoAxis& axis, PerfettoPackets& out);

}  // namespace hostprobe::analysis
