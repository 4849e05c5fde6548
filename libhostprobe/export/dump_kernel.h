// dump_kernel.h: what the kernel told of a machine, one event a line, all CPUs in time order.
//
// Room 3.
#pragma once

#include "dump.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

void dump_kernel(const Trace& trace, DumpForm form, const Sink& sink);

}  // namespace hostprobe::analysis
