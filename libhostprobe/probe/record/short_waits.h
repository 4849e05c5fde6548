// short_waits.h: waits that are too short for a record of their own are aggregated per thread and place.
//
// Room 2 (probe/). On the program's threads. The counters lie in the segment,
// so they outlive a kill; each is written by one thread alone (and by signal handlers on it: hence the single
// instructions). Price: a look through at most 8 keys, 3 additions, no clock.
#pragma once

#include "probe/record/spans.h"
#include "probe/record/thread.h"

namespace hostprobe::probe {

// The calling thread's counters for `hook` at `site`; nullptr when it has too many places or none is left.
SiteCounter* short_waits_of(const Hook& hook, const void* site);

// The writer's side: which thread entry holds g_segment.shorts[i], plus 1 (0: nobody), and giving it back.
extern std::uint16_t g_short_owners[];
// A free one for thread entry `owner`, whose key is still to come; nullptr: none is.
SiteCounter* claim_short_waits(std::uint32_t owner, std::uint32_t& index);
void release_short_waits(std::uint32_t i);

}  // namespace hostprobe::probe
