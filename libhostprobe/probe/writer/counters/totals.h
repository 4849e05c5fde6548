// totals.h: what all threads have done so far, those that ended too: the totals in the file's header.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace. A thread's own totals lie in its entry of the segment; once it has
// ended and its entry is given back they are added here.
#pragma once

#include "format/segment.h"

namespace hostprobe::probe {

struct Totals {
  std::uint64_t records, lost;  // of what never reached a chunk that we were given
  std::uint64_t own_ticks, quiet_calls, skipped;
  std::uint64_t made;        // records, without those in the chunks that are being filled
  std::uint64_t aggregated;  // waits that were aggregated
};
// Of threads whose entries were given back.
extern Totals g_ended_totals;

// The owner of an entry counts in plain words while we read them; each is read whole, and a count that is one behind is
// right a moment later. Thread sanitizer is told so.
#define HP_READS_LIVE_COUNTS __attribute__((no_sanitize("thread")))

void add_entry(Totals& totals, const ThreadEntry& entry);
// Of all threads, without the waits that living ones aggregate.
Totals sum_of_threads();
// And with them.
Totals totals_so_far();

// A row of the segment's short waits that is of waits. Launches that are only counted cost what a quiet call does.
bool is_of_waits(const SiteCounter& counters);

// Records that are only in the segment. A look at every chunk: for when somebody asks.
std::uint64_t records_in_memory();

}  // namespace hostprobe::probe
