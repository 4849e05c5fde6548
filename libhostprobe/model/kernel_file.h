// kernel_file.h: what a trace of the kernel holds, and of which time, without its rows.
//
// Room 3.
#pragma once

#include "answer/kernel.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

KernelFile kernel_file(const Trace& trace);

}  // namespace hostprobe::analysis
