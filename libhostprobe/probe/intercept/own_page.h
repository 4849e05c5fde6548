// own_page.h: the page of the gate, which the kernel empties in every child (MADV_WIPEONFORK), whichever call made it.
//
// Room 2 (probe/). Whoever finds it empty is a process that does not own it yet.
#pragma once

namespace hostprobe::probe {

// Makes the gate's page one that children find empty, or, in a child, makes it its own. False: it could not be had, so
// nothing may be put there. Takes no lock and allocates nothing: signal handlers may call it.
bool own_page();

// In a child whose fork was seen. `was_alone`: its parent had one thread.
void take_page_over(bool was_alone);

}  // namespace hostprobe::probe
