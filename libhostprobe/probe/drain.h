// drain.h: from the segment to blocks in the file.
//
// Room 2 (probe/). Called by writer.cpp on the writer thread, or on the exiting thread when there is none; never by two
// threads at a time.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// All chunks that were handed over.
void drain_full_chunks();
// Threads that ended: written and their entries given back.
void drain_ended_threads();
// Every chunk that somebody has: before the segment goes.
void drain_last_chunks();
// What is new in chunks still being filled, and threads, strings and stacks; with `ask_kernel` also CPU time and names
// of all living threads.
void drain_rest(bool ask_kernel);
// Short waits that the file never took: they are lost with the segment.
void count_lost_short_waits();
// What all threads have done so far, those that ended too; as of the last drain_rest.
struct Totals {
  std::uint64_t records, lost, own_ticks, quiet_calls, skipped;
  std::uint64_t summed;  // waits that were summed up
};
const Totals& drained_totals();
// Child of a fork.
void forget_drained();

}  // namespace hostprobe::probe
