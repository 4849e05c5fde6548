// perf_ring.h: events that the kernel counts for one of our threads, and the memory in which it leaves its records of them.
//
// Room 2 (probe/). The writer thread only. Without any right beyond those of the process, so nothing of the kernel's own code is in it. No
// descriptor stays open: the memory holds the event, and unmapping it ends it. Forked children do not have it.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>

namespace hostprobe::probe {

struct PerfRing {
  perf_event_mmap_page* page = nullptr;  // two pages, of which the second holds the records; nullptr: not open
};
// `event`: as software_event() makes them. 0, or the errno of what was refused.
int open_perf_ring(PerfRing& ring, const perf_event_attr& event, std::uint32_t tid);
void close_perf_ring(PerfRing& ring);

// A filter of system calls may end a process that asks for perf events; nobody can ask it beforehand.
bool may_ask_for_perf_events();

// The next record, at most so many bytes of it. False: there is none, or what lies there is none.
bool take_perf_record(PerfRing& ring, char* out, std::size_t bytes);

}  // namespace hostprobe::probe
