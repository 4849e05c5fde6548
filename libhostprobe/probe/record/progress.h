// progress.h: how often an NCCL progress thread looks after its work.
//
// Room 2 (probe/). Such a thread goes round its operations and calls sched_yield after each round in which none was new;
// without work it sleeps on a condition variable. So two calls with no such sleep in between are one round: its length is
// aggregated (short_waits.h), and a round longer than HOSTPROBE_STALL_US leaves a record. Price: one clock, a few additions.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Whether a thread is one of those is known by who created it (thread_type.h) or by its name.
bool is_progress_name(const char* name);

}  // namespace hostprobe::probe
