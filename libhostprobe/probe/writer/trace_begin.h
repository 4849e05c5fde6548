// trace_begin.h: the trace file as it begins: who the process is, its hooks, modules and clocks.
//
// Room 2 (probe/). On the thread of the first record.
#pragma once

namespace hostprobe::probe {

// Makes run folder and file with hook table and modules. False: reason was said.
bool create_trace_file();

}  // namespace hostprobe::probe
