// merge.h: threads that ended, past HOSTPROBE_ENDED_THREADS, share one entry and one row per key and object.
//
// Room 2 (probe/). On the writer thread, in modes monitor and flight: a process that makes threads all the time would else
// make its file grow for ever. Who is merged follows from when a thread began, so that late chunks and rows need no list.
// Killed at any instant, a reader finds each thread once: format/segment.h says how.
#pragma once

#include "format/segment.h"

namespace hostprobe::probe {

// How many more threads may have an entry of their own in the file; none once others are merged.
std::uint32_t own_entries_left();
// An ended thread's entry has gone to the file.
void count_own_entry(std::uint64_t start_ticks);
// Of a thread that began then the file has a row under its own name: before merging begins, that bars it from being merged.
void bar_from_merging(std::uint64_t start_ticks);
// The threads that began behind all of those are merged from now on. Needs a free row of the counters (site_rows.h).
void begin_merging();

// Threads that have begun by now are not merged: the file has what they did under their own names.
void merge_only_later_threads();

bool is_merging();
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
