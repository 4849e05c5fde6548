// ending.h: the end of the trace: by the writer, or without it where it does not come by in time.
//
// Room 2 (probe/). Between the writer thread and the thread that ends the process.
#pragma once

namespace hostprobe::probe {

// Writes everything and closes the trace; by the writer thread, or here when there is none. False: it did not finish in
// time, the rest stays in the segment.
bool finish_trace();
// After finish_trace(): once the writer, if it did finish, has made its last system call.
void join_finished_writer();

// The writer's side. Whether it is to write the rest; that it shall, as nobody else is left; and that.
bool is_told_to_finish();
void finish_by_itself();
void finish_as_writer();
// Around a visit to the loader, which may take any time. False: whoever ends the trace did not wait any longer, and has done the rest.
void enter_loader();
bool leave_loader();

}  // namespace hostprobe::probe
