// inherited_locks.h: whether a child of a fork may touch the dynamic loader's locks, told by the loader's own counter.
//
// Room 2 (probe/). Below loader.h, which asks. Takes no lock and allocates nothing: signal handlers may call it.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// The loader's own count of the objects it has added, unloaded ones included; nullptr: it was not found.
extern const unsigned long long* g_load_count;
void find_load_count();  // constructor

// In a child, before anything else here. `was_alone`: its parent had one thread, which cannot have held a lock.
void inherit_loader(bool was_alone);
// A thread of the parent may have held them when it forked, and nothing was loaded since.
bool locks_are_inherited();

}  // namespace hostprobe::probe
