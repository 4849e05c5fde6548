// merge.h: threads that ended, past HOSTPROBE_ENDED_THREADS, share one entry and one row per key and object.
//
// Room 2 (probe/). On the writer thread, in modes monitor and flight: a process that makes threads all the time would else
// make its file grow for ever. Who is merged follows from when a thread began, so that late chunks and rows need no list.
// Killed at any instant, a reader finds each thread once: format/segment.h says how.
#pragma once

#include "format/segment.h"

namespace hostprobe::probe {

// So many entries more of ended threads have gone to the file. Past the bound the others are merged from now on, once `has_room`: a row
// of the counters is free (site_rows.h).
void count_own_entries(std::uint32_t count, bool has_room);

// Threads that have begun by now are not merged: the file has what they did under their own names.
void merge_only_later_threads();

// Whether a thread that began then is merged when it ends.
bool merges_from(std::uint64_t start_ticks);
// Whether the row is the one that others are merged into.
bool is_merged_row(const SiteCounter& row);
// The row is of a thread that has been merged: it is in the table no more.
bool was_merged(const SiteCounter& row);

// Entries that ended, into the one that they share.
void merge_entries(const std::uint32_t* ended, std::uint32_t count);
// `from` and, unless null, `into` become one row in `free`, whose key is 0 or none; then these two are to be freed.
void merge_rows(SiteCounter& from, SiteCounter* into, SiteCounter& free);

// The shared entry; nullptr: there is none. And what stands for it where an entry is named by its place.
const ThreadEntry* merged_entry();
std::uint32_t shared_owner();

}  // namespace hostprobe::probe
