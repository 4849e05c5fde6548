// hook_table.h: the hook table in the trace file, and which of its functions this process has and used.
//
// Room 2 (probe/). On the thread that creates the trace, and on the writer.
#pragma once

namespace hostprobe::probe {

// Writes the table unless it is in the file. False: it is not; records without it would have no names.
bool write_hook_table();
// Which hooks found their function and which were called, when that changed since it was last written.
void write_hook_states();

}  // namespace hostprobe::probe
