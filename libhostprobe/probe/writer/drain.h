// drain.h: from the segment to blocks in the file.
//
// Room 2 (probe/). On the writer thread, or on the exiting thread when there is none; never by two
// threads at a time.
#pragma once

#include "format/segment.h"

namespace hostprobe::probe {

// All chunks that were handed over.
void drain_full_chunks();
// Threads that ended: written, or merged, and their entries given back.
void drain_ended_threads(bool last = false);
// Every chunk that somebody has, and the counters: before the segment goes.
void drain_last_chunks();
// What is new elsewhere: strings, stacks, ended threads; with `ask_kernel` CPU time and names of all living threads are
// read. What changes all the time (chunks still being filled, living threads, short waits) goes to the file in mode trace,
// and when `last`: else the file would grow for ever.
void drain_rest(bool ask_kernel, bool last);
// Whether enough time has passed to ask it again.
bool kernel_is_due(std::uint64_t now_ns);
// What threads have in the chunks that they are filling becomes counters. Mode monitor.
void aggregate_open_chunks();
// Counters and short waits as they are now: those of the start-up.
void write_start_counters();
// For how long the main thread was ready to run and did not, so far, as the kernel counts; 0: not known.
std::uint64_t main_run_delay_ns();
// Into a dump: living threads, short waits and counters as they are now.
void write_living();
// The chunk that thread `entry` is filling, if any. It cannot be recycled meanwhile: only the caller's thread recycles.
ChunkHead* open_chunk_of(ThreadEntry& entry);
// Short waits that the file never took: they are lost with the segment.
void count_lost_short_waits();
// What all threads have done so far, those that ended too.
struct Totals {
  std::uint64_t records, lost;  // of what never reached a chunk that we were given
  std::uint64_t own_ticks, quiet_calls, skipped;
  std::uint64_t made;        // records, without those in the chunks that are being filled
  std::uint64_t aggregated;  // waits that were aggregated
};
Totals totals_so_far();
// What hostprobe costs the program's threads without their doing anything for it.
void add_own_ticks(std::uint64_t ticks);
std::uint32_t living_threads();
// Everything that the file took so far, counters of living threads included, stays as it is there: no record of it is aggregated
// any more, no thread that lives now is merged when it ends.
void mark_all_drained();
// Records that are only in the segment. A look at every chunk: for when somebody asks.
std::uint64_t records_in_memory();

}  // namespace hostprobe::probe
