// drain.h: from the segment to the file, and to whoever else wants the records (consumers.h).
//
// Room 2 (probe/). On the writer thread, or on the exiting thread when there is none; never by two
// threads at a time.
#pragma once

namespace hostprobe::probe {

// All chunks that were handed over.
void drain_full_chunks();
// Every chunk that somebody has, and the counters: before the segment goes.
void drain_last_chunks();
// What is new elsewhere: strings, stacks, ended threads; with `ask_kernel` CPU time and names of all living threads are
// read. What changes all the time (chunks still being filled, living threads, short waits) goes to the file in mode trace,
// and when `last`: else the file would grow for ever.
void drain_rest(bool ask_kernel, bool last);

}  // namespace hostprobe::probe
