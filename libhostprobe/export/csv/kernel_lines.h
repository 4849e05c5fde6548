// kernel_lines.h: what the kernel told of a machine, in the columns of eBPF tracers.
//
// Room 3. A switch is two lines, as theirs: who goes with last_offcpu_ns, who comes with last_oncpu_ns; the other of the two is 0.
#pragma once

#include <functional>

#include "tables/tracer_columns.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

void write_kernel_lines(const Trace& trace, const std::function<void(const TableRow&)>& put);

}  // namespace hostprobe::analysis
