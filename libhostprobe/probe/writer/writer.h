// writer.h: the one thread of hostprobe in a process, and the trace file it writes.
//
// Room 2 (probe/). Takes full chunks, turns them into blocks, gives the chunks back; four times a second it also writes
// what is new elsewhere in the segment. It has a descriptor table of its own, so a program that closes every descriptor
// neither harms the trace nor finds its own files written to.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Makes run folder and file with hook table and modules. On the thread of the first record. False: reason was said.
bool create_trace_file();

// Writes everything and closes the trace; by the writer thread, or here when there is none. False: it did not finish in
// time, the rest stays in the segment.
bool finish_trace();

// After finish_trace(): once the writer, if it did finish, has made its last system call.
void join_finished_writer();

// Of a trace that may go on (completion.h): everything into the file, which is closed, and the segment goes with the process.
// False: the file does not take it, and stays open. And open again, with a segment that stays. By the writer, or whoever has kept it out.
bool write_to_the_end();
void write_on();
// Where there is no writer: none starts until it is let in. False: there is one.
bool keep_writer_out();
void let_writer_in();

// Thread id of the writer; 0 when there is none.
std::uint32_t writer_tid();
// Ends the writer thread without closing the trace, and waits for it. False: it is still there, because it did not come by
// within so many milliseconds (0: however long it takes): it may wait for a lock of the loader that the caller holds. It
// starts again after a while, where somebody takes a chunk.
bool send_writer_away(unsigned patience_ms);
// After that, at once.
void let_writer_return();
// For good: what comes later is written at exit.
void dismiss_writer();
// Around a call that the writer must not be there for, before it is sent away and before it may return. Then true: no other
// thread is in such a call.
void begin_absence();
bool end_absence();

}  // namespace hostprobe::probe
